package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Limits of one result of list_dir or ls: entries, and bytes of their names.
const (
	listPage  = 10_000
	listBytes = 1 << 20
	entrySize = 48 // bytes of an entry beside its name, about
)

type listDirInput struct {
	Path  string `json:"path,omitempty" jsonschema:"Path to the directory to list. Defaults to the workspace if empty." claim:"list"`
	After string `json:"after,omitempty" jsonschema:"Continue after this name."`
}

func newListDirTool() sdk.Tool {
	return sdk.NewTool("list_dir", "List files and directories in a specified path.",
		func(_ context.Context, req *sdk.Request[listDirInput]) (string, error) {
			path := cmp.Or(req.Args.Path, ".")
			return formatDirListing(req.Workspace, path, req.Args.After)
		},
		sdk.Traits{ReadOnly: true, Sets: []string{picoclawSet}, Permissions: []string{"fs.list"}, Risk: "low"})
}

// formatDirListing returns the listing of a directory, one line per entry, from the entry after a name.
func formatDirListing(w *workspace.Workspace, path, after string) (string, error) {
	page, err := w.ReadDirPage(path, after, listPage)
	if err != nil {
		return "", newPathFailureError("list directory", path, explainNotDirectory(w, path, err))
	}
	var b strings.Builder
	b.Grow(32 * len(page.Entries))
	last := ""
	for i, entry := range page.Entries {
		if b.Len() > listBytes {
			page.More = true
			break
		}
		if last = entry.Name(); i > 0 {
			b.WriteByte('\n')
		}
		if entry.IsDir() || isLinkToDir(w, path, entry) {
			b.WriteString("DIR: ")
		} else {
			b.WriteString("FILE: ")
		}
		b.WriteString(hiddentext.QuoteUnprintable(last))
	}
	if page.More {
		fmt.Fprintf(&b, "\n[%d entries in all; next: after=%s]", page.Total, hiddentext.QuoteUnprintable(last))
	}
	return b.String(), nil
}

// isLinkToDir reports whether an entry is a symlink to a directory that the policy allows listing.
func isLinkToDir(w *workspace.Workspace, in string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := w.Stat(filepath.Join(in, entry.Name()))
	return err == nil && info.IsDir()
}
