package main

import (
	"context"
	"io"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// conflict is the error for a file that is not in the version that the caller has seen, with what has changed since as
// far as that version is kept, and the caller may read the file.
func (m *memory) conflict(doing, path, seen, now string, open bool, contents func() ([]byte, error)) error {
	e := sdk.Errorf(sdk.Conflict, "failed to %s: the file has changed since the version %s; it is %s now and nothing was changed", doing, seen, nowCalled(now))
	if now == "" {
		return e.WithHint("read it again in a few seconds: a file that long has an etag only when nobody has just changed it")
	}
	e = e.WithHint("look at what has changed, then ask again with if_match=%s", now)
	if !open || !isContents(now) {
		return e
	}
	old, ok := m.version(seen)
	if !ok {
		e.Message += "\n(that version is not kept, so there is no diff)"
		return e
	}
	data, err := contents()
	if err != nil {
		return err
	}
	m.seen.Add(now, string(data))
	e.Message += "\nwhat has changed since:\n" + diff(path, path, old, data)
	return e
}

// matches compares what is to be deleted, moved or copied with the version that the caller has seen.
func (m *memory) matches(ctx context.Context, env *sdk.Environment, tree *workspace.Tree, etag, doing string) error {
	if etag == "" {
		return nil
	}
	now, err := etagOfTree(ctx, tree)
	if err != nil || now == etag {
		return err
	}
	if !tree.Info.Mode().IsRegular() || tree.Info.Size() > mostDiffable {
		return sdk.Errorf(sdk.Conflict, "failed to %s: it is not the version %s; it is %s now and nothing was changed", doing,
			etag, nowCalled(now))
	}
	return m.conflict(doing, tree.Path, etag, now, readable(env, tree.Path), func() (data []byte, err error) {
		err = tree.WalkTree(func(e *workspace.TreeEntry) error {
			f, err := e.Open()
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			data, err = io.ReadAll(f)
			return err
		})
		return data, err
	})
}

// nowCalled names the version that a file is, for a message.
func nowCalled(etag string) string {
	if etag == "" {
		return "one of a moment ago"
	}
	return etag
}
