package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// maxRead is how much of a file is read for its etag, and for what else belongs to all of a file, such as its number of
// lines, in bytes. A longer file has an etag of its revision.
const maxRead = 1 << 30

// The etags of what is no file that is read: of a directory a hash of what is in it follows, of a long file its
// revision.
const (
	etagDir        = "dir-"
	etagLink       = "link"
	etagSpecial    = "special"
	revisionPrefix = "rev-"
)

// etagOf returns the etag of contents.
func etagOf(ctx context.Context, f io.ReaderAt) (string, error) {
	hash := versions.NewHash()
	_, err := io.CopyBuffer(hash, onlyReader{&stoppable{ctx, io.NewSectionReader(f, 0, 1<<62)}}, make([]byte, streamBlock))
	return hash.Etag(), err
}

// isContents reports whether an etag is one of contents.
func isContents(etag string) bool { return versions.IsEtag(etag) }

// revision returns the etag of a file that is too long to be read for it. It is empty when the file was changed a moment
// ago: the next change might not show.
func revision(info fs.FileInfo) string {
	r := workspace.FileRevision(info)
	if r == "" {
		return ""
	}
	return revisionPrefix + versions.EtagString(r)
}

// etagOfTree returns the etag of what is to be deleted, moved or copied.
func etagOfTree(ctx context.Context, tree *workspace.Tree) (etag string, err error) {
	switch mode := tree.Info.Mode(); {
	case mode.IsDir():
		return etagOfDir(ctx, tree)
	case mode&fs.ModeSymlink != 0:
		return etagLink, nil
	case !mode.IsRegular():
		return etagSpecial, nil
	case tree.Info.Size() > maxRead:
		return revision(tree.Info), nil
	}
	err = tree.WalkTree(func(e *workspace.TreeEntry) error {
		f, err := e.Open()
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		etag, err = etagOf(ctx, f)
		return err
	})
	return etag, err
}

// etagOfDir tells directories apart by the names, kinds and sizes of all that is in them: to read all of it would take
// as long as to copy it.
func etagOfDir(ctx context.Context, tree *workspace.Tree) (string, error) {
	hash := versions.NewHash()
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

// joined joins names for a message.
func joined(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = hiddentext.QuoteName(name)
	}
	return strings.Join(all, ", ")
}
