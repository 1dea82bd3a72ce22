package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

type lsInput struct {
	Path          string `json:"path,omitempty" jsonschema:"Directory to list" default:"." claim:"list"`
	Recursive     bool   `json:"recursive,omitempty" jsonschema:"Recurse into subdirectories" default:"false"`
	Pattern       string `json:"pattern,omitempty" jsonschema:"Glob filter, such as *.py; a pattern with a slash matches the whole relative path, and ** any directories"`
	IncludeHidden bool   `json:"include_hidden,omitempty" jsonschema:"Include dotfiles" default:"false"`
	After         string `json:"after,omitempty" jsonschema:"Continue after this name"`
}

type lsEntry struct {
	Name      string `json:"name" jsonschema:"Path relative to the listed directory, with slashes"`
	Type      string `json:"type" jsonschema:"file, dir, symlink or other"`
	SizeBytes int64  `json:"size_bytes"`
}

type lsOutput struct {
	Path    string    `json:"path"`
	Entries []lsEntry `json:"entries"`
	Count   int       `json:"count"`
	Next    string    `json:"next,omitempty" jsonschema:"Value of after for the next page"`
	Note    string    `json:"note,omitempty" jsonschema:"Notes"`

	room int // bytes that are left for more entries
}

func newLsTool() sdk.Tool {
	return sdk.NewTool("ls", "List directory contents with type and size.",
		func(ctx context.Context, req *sdk.Request[lsInput]) (lsOutput, error) {
			in := req.Args
			in.Path = cmp.Or(in.Path, ".")
			if in.Pattern != "" && !doublestar.ValidatePattern(in.Pattern) {
				return lsOutput{}, sdk.Errorf(sdk.InvalidArgument, "the pattern %q is not a valid glob", in.Pattern)
			}
			out := lsOutput{Entries: []lsEntry{}, room: listBytes}
			var err error
			if out.Path, err = req.Workspace.AbsPath(in.Path); err != nil {
				return lsOutput{}, err
			}
			err = req.Workspace.WalkTree(guard.List, in.Path, func(e *workspace.TreeEntry) error {
				if ctx.Err() != nil {
					return sdk.Errorf(sdk.Cancelled, "listing was cancelled")
				}
				return out.addEntry(&in, e)
			})
			if err != nil {
				return lsOutput{}, newPathFailureError("list directory", in.Path, explainNotDirectory(req.Workspace, in.Path, err))
			}
			out.Count = len(out.Entries)
			if !in.Recursive && strings.Contains(in.Pattern, "/") {
				out.Note = "the pattern has a slash, but only the directory itself was listed; set recursive for its directories"
			}
			return out, nil
		},
		sdk.Traits{
			ReadOnly: true, TextResult: true, Sets: []string{moduleSet},
			Permissions: []string{"fs.list"}, Risk: "low",
		})
}

// addEntry adds an entry of the walk to the result if the arguments select it.
func (out *lsOutput) addEntry(in *lsInput, e *workspace.TreeEntry) error {
	if e.Name == "." {
		if !e.Info.IsDir() {
			return &fs.PathError{Op: "list", Path: in.Path, Err: syscall.ENOTDIR}
		}
		return nil
	}
	if e.Info.IsDir() && in.After != "" && !isAfterInWalk(e.Name, in.After) && !strings.HasPrefix(in.After+"/", e.Name+"/") {
		return fs.SkipDir // listed on an earlier page
	}
	hidden := !in.IncludeHidden && strings.HasPrefix(path.Base(e.Name), ".")
	var stay error
	if e.Info.IsDir() && (!in.Recursive || hidden) {
		stay = fs.SkipDir
	}
	if hidden {
		return stay
	}
	if !matchesGlob(in.Pattern, e.Name) || (in.After != "" && !isAfterInWalk(e.Name, in.After)) {
		return stay
	}
	if out.room -= len(e.Name) + entrySize; len(out.Entries) == listPage || out.room < 0 {
		out.Next = out.Entries[len(out.Entries)-1].Name
		return fs.SkipAll
	}
	out.Entries = append(out.Entries, lsEntry{Name: e.Name, Type: fileType(e.Info), SizeBytes: e.Info.Size()})
	return stay
}

// matchesGlob reports whether a glob matches a name: its last element, or the whole name if the glob has a slash.
func matchesGlob(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	if !strings.Contains(pattern, "/") {
		name = path.Base(name)
	}
	return doublestar.MatchUnvalidated(pattern, name)
}

// isAfterInWalk reports whether a walk visits one name after another.
func isAfterInWalk(name, after string) bool {
	for {
		a, restA, moreA := strings.Cut(name, "/")
		b, restB, moreB := strings.Cut(after, "/")
		if a != b {
			return a > b
		}
		if !moreA || !moreB {
			return moreA && !moreB
		}
		name, after = restA, restB
	}
}

// fileType returns the type of a file in one word.
func fileType(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return "dir"
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	case mode.IsRegular():
		return "file"
	}
	return "other"
}

// explainNotDirectory replaces an error that means "not a directory" by a message for the agent. It returns other
// errors unchanged.
func explainNotDirectory(w *workspace.Workspace, name string, err error) error {
	if !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	if info, statErr := w.Stat(name); statErr == nil && !info.IsDir() {
		return sdk.Errorf(sdk.InvalidArgument, "failed to list directory: %s is not a directory", hiddentext.QuoteUnprintable(name))
	}
	return err
}
