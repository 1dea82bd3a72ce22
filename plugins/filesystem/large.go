package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// How much of a file is read to say which version it is. What is longer is told apart in another way, in a time that
// does not depend on how long it is.
const (
	// mostRead is for etags, and for what else belongs to all of a file, such as how many lines it has, in bytes.
	mostRead = 1 << 30
	// mostCompared is for the states in the journal, in bytes: a file that is longer is never changed but by being
	// replaced.
	mostCompared = workspace.MaxOld
)

// stateLarge is the state of a file that was not read: its size and samples of it, hashed. It stays the same where the
// file is moved, even to another file system.
const stateLarge = "large-"

// revisionPrefix begins the etag of a file that was not read.
const revisionPrefix = "rev-"

// The samples of a file, in bytes.
const (
	samples    = 16
	sampleSize = 64 << 10
)

// stateOf returns the state of a file of which up to so many bytes are read.
func stateOf(ctx context.Context, f io.ReaderAt, size, most int64) (string, error) {
	if size <= most {
		hash := versions.NewHash()
		_, err := io.CopyBuffer(hash, onlyReader{&stoppable{ctx, io.NewSectionReader(f, 0, 1<<62)}},
			make([]byte, streamBlock))
		return hash.Etag(), err
	}
	hash := versions.NewHash()
	if _, err := fmt.Fprintln(hash, size); err != nil {
		return "", err
	}
	for i := range int64(samples) {
		at := (size - sampleSize) / (samples - 1) * i
		if i == samples-1 {
			at = size - sampleSize
		}
		if _, err := io.Copy(hash, io.NewSectionReader(f, at, sampleSize)); err != nil {
			return "", err
		}
	}
	return stateLarge + hash.Etag(), nil
}

// isContents reports whether a state is the etag of all of a file's contents.
func isContents(state string) bool { return versions.IsEtag(state) }

// isSampled reports whether a state leaves open whether it is all the same.
func isSampled(state string) bool { return strings.HasPrefix(state, stateLarge) }

// revision is the etag of a file that is too long to be read for it. It is empty when the file was changed a moment
// ago: the next change might not show.
func revision(info fs.FileInfo) string {
	r := workspace.Revision(info)
	if r == "" {
		return ""
	}
	return revisionPrefix + versions.EtagString(r)
}

// etagOfTree returns the etag of what is to be deleted, moved or copied.
func etagOfTree(ctx context.Context, tree *workspace.Tree) (string, error) {
	if tree.Info.Mode().IsRegular() && tree.Info.Size() > mostRead {
		return revision(tree.Info), nil
	}
	now, err := look(ctx, tree, mostRead)
	return now.state, err
}
