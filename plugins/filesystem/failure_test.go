package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

func TestErrorMessages(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "write", Path: "/w/.tmp-1-2", Err: syscall.ENOSPC},
			"failed to write file: no space left on the device"},
		{&fs.PathError{Op: "write", Path: "/w/.tmp-1-2", Err: syscall.EDQUOT},
			"failed to write file: the user's disk quota is exceeded"},
		{fmt.Errorf("wrapped: %w", &workspace.Error{Code: workspace.Exists, Path: "a\n[ERROR] \x1b[2Jb"}),
			`a\n[ERROR] \x1b[2Jb exists already`},
		{&workspace.Error{Code: workspace.TooLarge, Path: "\u202etxt", Err: errors.New("2 bytes long")}, `\u202e`},
		{&fs.PathError{Op: "open", Path: "a\n[ERROR] \x1b[2Jb", Err: syscall.EIO},
			`open a\n[ERROR] \x1b[2Jb: input/output error`},
		{&workspace.Error{Code: workspace.Refused, Path: "a\nb",
			Err: errors.New("access denied: a\nb is the workspace itself")}, `access denied: a\nb is`},
		{&fs.PathError{Op: "lstat", Path: "/w/a\nb", Err: syscall.ENAMETOOLONG},
			"failed to write file: a name in the path is too long"},
		{&fs.PathError{Op: "open", Path: "f/x", Err: syscall.ENOTDIR}, "failed to write file: a part of the path is a file"},
	} {
		if got := newFailureError("write file", c.err).Error(); !strings.Contains(got, c.want) || strings.ContainsAny(got,
			"\n\x1b\u202e") {
			t.Errorf("%v: %q; want %q", c.err, got, c.want)
		}
	}
}

// Of several files the one is named that is why nothing was changed.
func TestErrorNamesFailedFile(t *testing.T) {
	p := start(t, map[string]string{"a": "old", "b": "old", "c": "old"})
	if err := os.Chmod(filepath.Join(p.Dir, "b"), 0o444); err != nil {
		t.Fatal(err)
	}
	edit := func(path, text string) args { return args{"path": path, "old_text": text, "new_text": "new"} }
	for which, edits := range map[string][]args{
		"b":       {edit("a", "old"), edit("b", "old"), edit("c", "old")},
		"missing": {edit("a", "old"), edit("missing", "old")},
		"c":       {edit("a", "old"), edit("c", "none")},
		"a/x":     {edit("c", "old"), edit("a/x", "old")},
	} {
		r := p.Call("edit_file", args{"edits": edits})
		said := r.Err.GetMessage()
		if !strings.Contains(said+r.Err.GetHint(), which) || strings.Contains(said, "that was") || !strings.HasSuffix(said,
			"\nnothing was changed in any file") {
			t.Errorf("%s: %q, %v", which, r.Text, r.Err)
		}
		wantContents(t, p, "a", "old")
	}
}

func TestMkdirBelowFileFails(t *testing.T) {
	p := start(t, map[string]string{"f": "x"})
	r := p.Call("mkdir", args{"path": "f"})
	if r.Err.GetCode() != "conflict" || !strings.HasSuffix(r.Err.GetMessage(), "f exists already and is no directory") ||
		r.Err.GetHint() != "" {
		t.Errorf("%q, %v", r.Text, r.Err)
	}
}

// The message about a file that is not there is fixed; which file it was is said beside it, and only of what is not
// there.
func TestMissingFileHint(t *testing.T) {
	p := start(t, map[string]string{"f": "text"})
	for tool, call := range map[string]args{
		"read_file": {"path": "nope"}, "read": {"path": "nope"}, "file_stat": {"path": "nope"}, "list_dir": {"path": "nope"},
		"ls": {"path": "nope"},
		"rm": {"path": "nope"}, "insert": {"path": "nope", "line": 1, "content": "x"},
		"edit":      {"path": "nope", "old_string": "a", "new_string": "b"},
		"edit_file": {"path": "nope", "old_text": "a", "new_text": "b"}, "mv": {"source": "nope", "destination": "x"},
		"cp": {"source": "nope", "destination": "x"},
	} {
		r := p.Call(tool, call)
		if r.Err.GetCode() != "not_found" || !strings.HasSuffix(r.Err.GetMessage(), ": file not found") ||
			r.Err.GetHint() != "there is no nope" {
			t.Errorf("%s: %v", tool, r.Err)
		}
	}
	r := p.Call("edit_file", args{"edits": []args{{"path": "nope", "old_text": "a", "new_text": "b"},
		{"path": "f", "old_text": "text", "new_text": "b"}}})
	if r.Err.GetMessage() != "failed to edit file: file not found\nnothing was changed in any file" ||
		r.Err.GetHint() != "there is no nope" {
		t.Errorf("%v", r.Err)
	}
	if r := p.Call("edit_file", args{"path": "f", "old_text": "a", "new_text": "b"}); r.Err.GetCode() != "not_found" ||
		r.Err.GetHint() != "" {
		t.Errorf("%v", r.Err)
	}
}

// What is too large to be held in memory is said to be, and is not touched.
func TestTooLargeFilesAreNotEdited(t *testing.T) {
	p := start(t, map[string]string{"f": "start\n"})
	path := filepath.Join(p.Dir, "f")
	if err := os.Truncate(path, 1<<30); err != nil {
		t.Fatal(err)
	}
	for tool, call := range map[string]args{
		"edit_file":   {"path": "f", "old_text": "start", "new_text": "end"},
		"append_file": {"path": "f", "content": "more"},
		"insert":      {"path": "f", "line": 1, "content": "more"},
		"edit":        {"path": "f", "old_string": "start", "new_string": "end"},
	} {
		if r := p.Call(tool, call); r.Err.GetCode() != "too_large" || r.Err.GetHint() == "" {
			t.Errorf("%s: %v", tool, r.Err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 1<<30 {
		t.Errorf("it has changed: %v", err)
	}
	must(t, p, "write_file", args{"path": "f", "content": "small"})
	wantContents(t, p, "f", "small")
}
