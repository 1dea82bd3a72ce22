package main

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/takeback"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// shrink cuts off what was added to the end.
func (r *restoring) shrink(step takeback.Step) error {
	var meta *workspace.Meta
	if step.Modified != nil {
		meta = &workspace.Meta{}
	}
	return r.env.Workspace.Apply(nil, workspace.Edit{Path: step.Path, Meta: meta, Change: func(old *workspace.Old) ([]byte,
		error) {
		data, err := old.Bytes()
		if err != nil {
			return nil, err
		}
		if int64(len(data)) < step.Size || versions.Etag(data[:step.Size]) != step.Before {
			return nil, sdk.Errorf(sdk.Conflict, "%s has changed at its beginning too; nothing was undone", shown(step.Path))
		}
		if meta != nil {
			*meta = workspace.MetaOf(old.Info)
			meta.Modified = *step.Modified
		}
		return data[:step.Size], nil
	}})
}

// restore puts back what was kept: all of a directory, or nothing.
func (r *restoring) restore(ctx context.Context, op *takeback.Op, step takeback.Step) error {
	w := r.env.Workspace
	var top *takeback.Kept
	err := r.m.store.Blob(op.ID, step.Blob, func(k takeback.Kept) error {
		if top == nil {
			top = &k
		}
		if top.Header.Typeflag == tar.TypeDir {
			return errLooked
		}
		stays, err := r.clear(ctx, step.Path, top.Header.FileInfo())
		if err != nil {
			return err
		}
		meta := metaOf(k)
		if !stays {
			r.countForeign(k.Header)
		}
		switch k.Header.Typeflag {
		case tar.TypeSymlink:
			return w.Symlink(k.Header.Linkname, step.Path)
		case tar.TypeFifo:
			return w.Fifo(step.Path, meta)
		}
		data, err := io.ReadAll(k.Contents)
		if err != nil {
			return err
		}
		return w.Apply(nil, workspace.Edit{
			Path: step.Path, Parents: true, Meta: &meta, Change: func(*workspace.Old) ([]byte, error) { return data, nil },
		})
	})
	if !errors.Is(err, errLooked) {
		return err
	}
	return r.restoreDir(ctx, op, step, top)
}

var errLooked = errors.New("it has been looked at")

func (r *restoring) restoreDir(ctx context.Context, op *takeback.Op, step takeback.Step, top *takeback.Kept) error {
	w := r.env.Workspace
	if _, err := r.clear(ctx, step.Path, top.Header.FileInfo()); err != nil {
		return err
	}
	if missingAbove(w, step.Path) > 0 {
		if _, err := w.Mkdir(filepath.Dir(step.Path), moduleDirMode); err != nil {
			return err
		}
	}
	return w.Build(step.Path, metaOf(*top), func(b *workspace.Building) error {
		return r.m.store.Blob(op.ID, step.Blob, func(k takeback.Kept) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if r.countForeign(k.Header); k.Name == "." {
				return nil
			}
			switch k.Header.Typeflag {
			case tar.TypeDir:
				return b.Mkdir(k.Name, metaOf(k))
			case tar.TypeSymlink:
				return b.Symlink(k.Header.Linkname, k.Name)
			case tar.TypeFifo:
				return b.Fifo(k.Name, metaOf(k))
			case tar.TypeLink:
				return b.Link(k.First, k.Name, metaOf(k))
			}
			return b.File(k.Name, metaOf(k), k.Contents)
		})
	})
}

// nobody is the number that a sandbox shows for owners whom it does not know.
const nobody = 65534

// metaOf returns what something was besides its contents.
func metaOf(k takeback.Kept) workspace.Meta {
	h := k.Header
	meta := workspace.Meta{Mode: h.FileInfo().Mode(), Modified: h.ModTime, Attributes: k.Attributes()}
	if h.Uid != nobody && h.Gid != nobody {
		meta.Owner = &workspace.Owner{UID: h.Uid, GID: h.Gid}
	}
	return meta
}

// countForeign counts what is made anew and belonged to somebody whom this process can't give it to.
func (r *restoring) countForeign(h *tar.Header) {
	if user := os.Geteuid(); h.Uid == nobody || user > 0 && h.Uid != user {
		r.foreign++
	}
}

// clear removes what is in the way of what is put back. A file stays: it gets its contents back, and what it was
// besides.
func (r *restoring) clear(ctx context.Context, name string, info fs.FileInfo) (stays bool, err error) {
	now, err := r.at(ctx, name, absent)
	if err != nil || now.state == absent {
		return false, err
	}
	file := !strings.HasPrefix(now.state, stateDir) && now.state != stateLink && now.state != stateSpecial
	if file && info.Mode().IsRegular() {
		return true, nil
	}
	r.cleared = true
	return false, r.env.Workspace.Remove(ctx, name, true, nil)
}
