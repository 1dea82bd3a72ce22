package main

import (
	"context"
	"io"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

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
