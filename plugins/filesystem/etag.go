package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// maxFullReadBytes is the maximum size of a file that is read completely for its line count and content etag.
const maxFullReadBytes = 1 << 30

// Etags of files that are not read. A hash of names and sizes follows etagDir, and a hash of size and times follows
// revisionPrefix.
const (
	etagDir        = "dir-"
	etagLink       = "link"
	etagSpecial    = "special"
	revisionPrefix = "rev-"
)

// contentEtag returns the etag of a file's contents.
func contentEtag(ctx context.Context, f io.ReaderAt) (string, error) {
	hash := versions.NewEtagHasher()
	_, err := io.CopyBuffer(hash, readerOnly{&contextReader{ctx, io.NewSectionReader(f, 0, 1<<62)}}, make([]byte, streamBlockSize))
	return hash.Etag(), err
}

// revisionEtag returns an etag of size and times, for a file too long to read. It is empty if the file changed within
// the last seconds, because another change could go unnoticed.
func revisionEtag(info fs.FileInfo) string {
	r := workspace.FileRevision(info)
	if r == "" {
		return ""
	}
	return revisionPrefix + versions.ComputeStringEtag(r)
}

// treeEtag returns the etag of a file or directory to delete, move or copy.
func treeEtag(ctx context.Context, tree *workspace.FileTree) (etag string, err error) {
	switch mode := tree.Info.Mode(); {
	case mode.IsDir():
		return dirEtag(ctx, tree)
	case mode&fs.ModeSymlink != 0:
		return etagLink, nil
	case !mode.IsRegular():
		return etagSpecial, nil
	case tree.Info.Size() > maxFullReadBytes:
		return revisionEtag(tree.Info), nil
	}
	err = tree.WalkTree(func(e *workspace.TreeEntry) error {
		f, readErr := e.Open()
		if readErr != nil {
			return readErr
		}
		defer func() { _ = f.Close() }()
		etag, readErr = contentEtag(ctx, f)
		return readErr
	})
	return etag, err
}

// dirEtag returns a hash of the names, types and sizes in a directory, because reading the contents takes too long.
func dirEtag(ctx context.Context, tree *workspace.FileTree) (string, error) {
	hash := versions.NewEtagHasher()
	err := tree.WalkTree(func(e *workspace.TreeEntry) error {
		if e.Name == "." {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		size := int64(0)
		if e.Info.Mode().IsRegular() {
			size = e.Info.Size()
		}
		_, err := fmt.Fprintf(hash, "%q %s %d\n", e.Name, e.Info.Mode().Type(), size)
		return err
	})
	return etagDir + hash.Etag(), err
}

// joinQuotedNames joins names for a message.
func joinQuotedNames(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = hiddentext.QuoteUnprintable(name)
	}
	return strings.Join(all, ", ")
}

// newConflictError returns the error for a file that changed since it was read, with a diff if this is possible.
func (m *pluginState) newConflictError(doing, path, seen, now string, open bool, contents func() ([]byte, error)) error {
	e := sdk.Errorf(sdk.Conflict, "failed to %s: the file has changed since the version %s; it is %s now and nothing was changed", doing, seen, describeVersion(now))
	if now == "" {
		return e.WithHint("read it again in a few seconds: a file of this size has no etag right after a change")
	}
	e = e.WithHint("check the changes, then retry with if_match=%s", now)
	if !open || !versions.IsEtag(now) {
		return e
	}
	old, ok := m.seen.Get(seen)
	if !ok {
		e.Message += "\n(no diff: that version is not stored)"
		return e
	}
	data, err := contents()
	if err != nil {
		return err
	}
	m.seen.Add(now, string(data))
	e.Message += "\nchanges since then:\n" + formatUnifiedDiff(path, path, []byte(old), data)
	return e
}

// checkTreeEtag returns a conflict error if a file or directory has another etag than the request.
func (m *pluginState) checkTreeEtag(ctx context.Context, env *sdk.Environment, tree *workspace.FileTree, etag, doing string) error {
	if etag == "" {
		return nil
	}
	now, err := treeEtag(ctx, tree)
	if err != nil || now == etag {
		return err
	}
	if !tree.Info.Mode().IsRegular() || tree.Info.Size() > maxDiffableBytes {
		return sdk.Errorf(sdk.Conflict, "failed to %s: it is not the version %s; it is %s now and nothing was changed", doing,
			etag, describeVersion(now))
	}
	return m.newConflictError(doing, tree.Path, etag, now, isReadAllowed(env, tree.Path), func() (data []byte, err error) {
		err = tree.WalkTree(func(e *workspace.TreeEntry) error {
			f, readErr := e.Open()
			if readErr != nil {
				return readErr
			}
			defer func() { _ = f.Close() }()
			data, readErr = io.ReadAll(f)
			return readErr
		})
		return data, err
	})
}

// describeVersion returns the etag of the current version for a message, or words for a version without etag.
func describeVersion(etag string) string {
	if etag == "" {
		return "one of a moment ago"
	}
	return etag
}
