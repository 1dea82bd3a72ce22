package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// snapshot is everything in a workspace: names, modes, contents and their times, links.
func snapshot(t *testing.T, p *sdktest.Plugin) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(p.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil && (!errors.Is(err, fs.ErrNotExist) || path == p.Dir) {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file or directory on its way that is gone meanwhile
		}
		if err != nil {
			return err
		}
		line := strings.TrimPrefix(path, p.Dir) + " " + info.Mode().String()
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			line += " " + target
		case d.Type().IsRegular():
			data, _ := os.ReadFile(path)
			line += " " + info.ModTime().Format(time.StampNano) + " " + string(data)
		}
		all = append(all, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestUndoBringsEverythingBack(t *testing.T) {
	for name, call := range map[string]struct {
		tool string
		args args
	}{
		"an overwrite":           {"write_file", args{"path": "f", "content": "new"}},
		"a new file":             {"write_file", args{"path": "n", "content": "new"}},
		"a file in new dirs":     {"write_file", args{"path": "d/q/y/z/n", "content": "new"}},
		"an edit":                {"edit_file", args{"path": "f", "old_text": "o", "new_text": "0"}},
		"an append":              {"append_file", args{"path": "f", "content": "more"}},
		"an append to nothing":   {"append_file", args{"path": "n", "content": "more"}},
		"a deleted file":         {"rm", args{"path": "script"}},
		"a deleted directory":    {"rm", args{"path": "d", "recursive": true}},
		"a deleted link":         {"rm", args{"path": "link"}},
		"a move":                 {"mv", args{"source": "f", "destination": "d/moved"}},
		"a move of a directory":  {"mv", args{"source": "d", "destination": "e"}},
		"a move onto a file":     {"mv", args{"source": "f", "destination": "script", "overwrite": true}},
		"a move onto a tree":     {"mv", args{"source": "other", "destination": "d", "overwrite": true}},
		"a copy":                 {"cp", args{"source": "d", "destination": "e"}},
		"a copy onto a file":     {"cp", args{"source": "f", "destination": "script", "overwrite": true}},
		"a copy onto a tree":     {"cp", args{"source": "other", "destination": "d", "overwrite": true}},
		"a directory":            {"mkdir", args{"path": "made"}},
		"nested directories":     {"mkdir", args{"path": "made/in/one"}},
		"an insertion":           {"insert", args{"path": "f", "line": 1, "content": "top"}},
		"a change through links": {"write_file", args{"path": "link", "content": "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, map[string]string{"f": "old\n", "script": "#!/bin/sh\n", "d/x": "x",
				"d/e/y": strings.Repeat("y", 2<<20), "other/z": "z"})
			for path, mode := range map[string]os.FileMode{"script": 0o755, "d/x": 0o600, "d/e": 0o700 | os.ModeSticky,
				"d": 0o775 | os.ModeSetgid} {
				if err := os.Chmod(filepath.Join(p.Dir, path), mode); err != nil {
					t.Fatal(err)
				}
			}
			for _, link := range []string{"link", "d/link"} {
				if err := os.Symlink("f", filepath.Join(p.Dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			before := snapshot(t, p)
			must(t, p, call.tool, call.args)
			after := snapshot(t, p)
			if slices.Equal(before, after) {
				t.Fatal("nothing has changed")
			}
			redo := must(t, p, "undo", args{})["undo"]
			if got := snapshot(t, p); !slices.Equal(got, before) {
				t.Fatalf("undone, there is\n%.2000q; before there was\n%.2000q", got, before)
			}
			must(t, p, "undo", args{"id": redo})
			if got := snapshot(t, p); !slices.Equal(got, after) {
				t.Errorf("done again, there is\n%.2000q; want\n%.2000q", got, after)
			}
		})
	}
}

// New parent directories change the time of the directory in which they are created: undo restores it.
func TestUndoRestoresTimeAboveNewDirectories(t *testing.T) {
	for _, dir := range []string{"", "d", "d/e"} {
		p := start(t, map[string]string{"d/e/x": "x"})
		when := time.Unix(1e9, 123456789)
		if err := os.Chtimes(filepath.Join(p.Dir, dir), when, when); err != nil {
			t.Fatal(err)
		}
		must(t, p, "write_file", args{"path": filepath.Join(dir, "new/in/one/f"), "content": "x"})
		must(t, p, "undo", args{})
		if info, err := os.Stat(filepath.Join(p.Dir, dir)); err != nil || !info.ModTime().Equal(when) {
			t.Errorf("%q: %v, modified %v", dir, err, info.ModTime())
		}
	}
}

// A directory comes back with the times of all that is in it, and however deep that is.
func TestUndoRestoresDeepTreesWithTimes(t *testing.T) {
	const levels = 1200
	deep := strings.Repeat("d/", levels) + "f"
	p := start(t, map[string]string{deep: "x"})
	for at, name := deep, "d"; at != "."; at = filepath.Dir(at) {
		when := time.Unix(1e9+int64(len(at)), 123456789)
		if err := os.Chtimes(filepath.Join(p.Dir, at), when, when); err != nil {
			t.Fatal(name, err)
		}
	}
	must(t, p, "rm", args{"path": "d", "recursive": true})
	must(t, p, "undo", args{})
	for at := deep; at != "."; at = filepath.Dir(at) {
		info, err := os.Stat(filepath.Join(p.Dir, at))
		if err != nil || !info.ModTime().Equal(time.Unix(1e9+int64(len(at)), 123456789)) {
			t.Fatalf("%d levels down: %v, %v", strings.Count(at, "/"), info, err)
		}
	}
	// Made by one write they go with it, all but what somebody has put something into.
	must(t, p, "write_file", args{"path": "d/" + strings.Repeat("e/", levels) + "f", "content": "x"})
	if err := os.WriteFile(filepath.Join(p.Dir, "d", "e", "precious"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, p, "undo", args{})
	if entries, err := os.ReadDir(filepath.Join(p.Dir, "d", "e")); err != nil || len(entries) != 1 ||
		entries[0].Name() != "precious" {
		t.Errorf("of the directories that were made there is left %v, %v", entries, err)
	}
}

func TestUndoStepByStep(t *testing.T) {
	p := start(t, map[string]string{"f": "0"})
	for _, content := range []string{"1", "2", "3"} {
		must(t, p, "write_file", args{"path": "f", "content": content})
	}
	for _, want := range []string{"2", "1", "0"} {
		must(t, p, "undo", args{})
		wantContents(t, p, "f", want)
	}
	if r := p.Call("undo", args{}); r.Err.GetMessage() != "there is nothing to undo" {
		t.Errorf("%q, %v", r.Text, r.Err)
	}
	if r := p.Call("history", args{}); strings.Count(r.Text, "(undone)") != 3 || strings.Count(r.Text, "\n") != 5 {
		t.Errorf("history says\n%s", r.Text)
	}
}

func TestUndoKeepsLaterFiles(t *testing.T) {
	p := start(t, map[string]string{"f": "old"})
	must(t, p, "write_file", args{"path": "f", "content": "mine"})
	if err := os.WriteFile(filepath.Join(p.Dir, "f"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := p.Call("undo", args{}); r.Err.GetCode() != "conflict" {
		t.Fatalf("%q, %v", r.Text, r.Err)
	}
	wantContents(t, p, "f", "theirs")
	redo := must(t, p, "undo", args{"force": true})["undo"]
	wantContents(t, p, "f", "old")
	must(t, p, "undo", args{"id": redo})
	wantContents(t, p, "f", "theirs")
}

func TestUndoErrorNamesEachConflict(t *testing.T) {
	p := start(t, map[string]string{"a": "old", "b": "old", "c": "old"})
	must(t, p, "edit_file", args{"edits": []args{
		{"path": "a", "old_text": "old", "new_text": "new"}, {"path": "b", "old_text": "old", "new_text": "new"},
		{"path": "c", "old_text": "old", "new_text": "new"},
	}})
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(p.Dir, name), []byte("theirs"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := p.Call("undo", args{})
	for _, name := range []string{"a", "b", "c"} {
		if want := filepath.Join(p.Dir, name) + " has changed since"; !strings.Contains(r.Err.GetMessage(), want) {
			t.Errorf("no %q in %q", want, r.Err.GetMessage())
		}
	}
}

// A directory comes back whole or not at all, and what could not be brought back can be tried again.
func TestFailedDirectoryUndoIsAtomic(t *testing.T) {
	kept, dir := t.TempDir(), t.TempDir()
	in := func(limit int64) *sdktest.Plugin {
		return sdktest.Start(t, newPlugin(), sdktest.Options{StateDir: kept, Policy: func(p *guard.Policy) {
			p.Workspace, p.MaxFileSize = dir, limit
		}})
	}
	if err := os.MkdirAll(filepath.Join(dir, "d", "e"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"f": "0", "d/a": "a", "d/e/large": strings.Repeat("x", 100)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := in(0)
	must(t, p, "write_file", args{"path": "f", "content": "1"})
	p.Dir = dir
	before := snapshot(t, p)
	must(t, p, "rm", args{"path": "d", "recursive": true})
	without := snapshot(t, p)

	if r := in(10).Call("undo", args{}); r.Err == nil {
		t.Fatalf("a file over the limit was brought back: %s", r.Text)
	}
	if now := snapshot(t, p); !slices.Equal(now, without) {
		t.Errorf("after an undo that failed there is\n%q, not\n%q", now, without)
	}
	must(t, p, "undo", args{})
	if now := snapshot(t, p); !slices.Equal(now, before) {
		t.Errorf("then undo brought back\n%q, not\n%q", now, before)
	}
}

// A directory of an operation stays with what somebody else put into it.
func TestUndoKeepsForeignFilesInDirectory(t *testing.T) {
	for name, made := range map[string]struct {
		tool string
		args args
	}{
		"made":  {"mkdir", args{"path": "new"}},
		"copy":  {"cp", args{"source": "d", "destination": "new"}},
		"moved": {"mv", args{"source": "d", "destination": "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, map[string]string{"d/a": "a"})
			id := must(t, p, made.tool, made.args)["undo"]
			must(t, p, "write_file", args{"path": "new/precious", "content": "x"})
			r := p.Call("undo", args{"id": id})
			if text := r.Text + r.Err.GetMessage(); !strings.Contains(text, "/new") || name != "copy" && r.Err == nil {
				t.Errorf("%q, %v", r.Text, r.Err)
			}
			wantContents(t, p, "new/precious", "x")
			if name == "copy" {
				return // the rest of it is deleted
			}
			must(t, p, "undo", args{}) // the file
			must(t, p, "undo", args{}) // and then the directory
			if _, err := os.Stat(filepath.Join(p.Dir, "new")); !os.IsNotExist(err) {
				t.Errorf("what was made is still there: %v", err)
			}
		})
	}
}

// Half of a directory is not taken for one that was never deleted, so that the change before is not taken back in its
// place.
func TestUndoDetectsPartialDirectory(t *testing.T) {
	p := start(t, map[string]string{"f": "0", "d/a": "a", "d/b": "b"})
	must(t, p, "write_file", args{"path": "f", "content": "1"})
	must(t, p, "rm", args{"path": "d", "recursive": true})
	if err := os.Mkdir(filepath.Join(p.Dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r := p.Call("undo", args{}); r.Err.GetCode() != "conflict" {
		t.Errorf("%q, %v", r.Text, r.Err)
	}
	wantContents(t, p, "f", "1")
	must(t, p, "undo", args{"force": true})
	wantContents(t, p, "d/a", "a")
	wantContents(t, p, "d/b", "b")
}

// A link in the way of the last change does not make an older one the last.
func TestUndoStopsAtEscapingLink(t *testing.T) {
	p := start(t, nil)
	for _, c := range []struct {
		tool string
		args args
	}{
		{"write_file", args{"path": "old.txt", "content": "1"}},
		{"write_file", args{"path": "old.txt", "content": "2"}},
		{"write_file", args{"path": "d/f", "content": "x"}},
		{"rm", args{"path": "d", "recursive": true}},
	} {
		must(t, p, c.tool, c.args)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(p.Dir, "d")); err != nil {
		t.Fatal(err)
	}
	if r := p.Call("undo", args{}); r.Err.GetCode() != "conflict" || !strings.Contains(r.Err.GetMessage(), "d exists again") {
		t.Errorf("undo: %q, %v", r.Text, r.Err)
	}
	wantContents(t, p, "old.txt", "2")
	if text := p.Call("history", args{}).Text; !strings.Contains(text, "rm") {
		t.Errorf("history hides it:\n%s", text)
	}
}

// A link is deleted and moved itself, and comes back, wherever it points to: to itself, to nothing, out of the
// workspace.
func TestLinksAreNotFollowed(t *testing.T) {
	for name, target := range map[string]string{"to itself": "link", "to nothing": "nothing", "out": "/etc/passwd",
		"to a file": "f", "to a tree": "d"} {
		t.Run(name, func(t *testing.T) {
			p := start(t, map[string]string{"f": "f", "d/f": "f"})
			if err := os.Symlink(target, filepath.Join(p.Dir, "link")); err != nil {
				t.Fatal(err)
			}
			must(t, p, "write_file", args{"path": "f", "content": "changed"})
			before := snapshot(t, p)
			for _, c := range []struct {
				tool string
				args args
			}{
				{"rm", args{"path": "link"}},
				{"mv", args{"source": "link", "destination": "moved"}},
				{"mv", args{"source": "link", "destination": "f", "overwrite": true}},
				{"mv", args{"source": "f", "destination": "link", "overwrite": true}},
			} {
				must(t, p, c.tool, c.args)
				if slices.Equal(snapshot(t, p), before) {
					t.Errorf("%s, %v has changed nothing", c.tool, c.args)
				}
				must(t, p, "undo", args{})
				if now := snapshot(t, p); !slices.Equal(now, before) {
					t.Fatalf("after %s, %v and undo there is\n%q, not\n%q", c.tool, c.args, now, before)
				}
			}
		})
	}
}

func TestUndoOfUnknownID(t *testing.T) {
	p := start(t, map[string]string{"f": "old"})
	for _, id := range []string{"nothing", "../../f", "20260101T000000000000000-aaaa"} {
		if r := p.Call("undo", args{"id": id}); r.Err.GetCode() != "not_found" {
			t.Errorf("%s: %q, %v", id, r.Text, r.Err)
		}
	}
}

func TestUndoDisabledKeepsNothing(t *testing.T) {
	state, without := t.TempDir(), newPlugin()
	without.Grants.Takeback = false
	p := sdktest.Start(t, without, sdktest.Options{Files: map[string]string{"f": "old"}, StateDir: state})
	must(t, p, "write_file", args{"path": "f", "content": "new"})
	if r := p.Call("undo", args{}); r.Err.GetCode() != "conflict" {
		t.Errorf("%q, %v", r.Text, r.Err)
	}
	if kept, _ := filepath.Glob(filepath.Join(state, "*.tar")); len(kept) > 0 {
		t.Errorf("there is %v", kept)
	}
}

func TestTooLargeChangeIsMadeWithoutUndo(t *testing.T) {
	p := sdktest.Start(t, newPlugin(), sdktest.Options{
		Files:    map[string]string{"large": strings.Repeat("x", 4000), "small": "s"},
		Takeback: undo.StoreOptions{MaxBytes: 8000},
	})
	must(t, p, "rm", args{"path": "small"})
	out := must(t, p, "rm", args{"path": "large"})
	if notes, _ := out["notes"].([]any); len(notes) != 1 || out["undo"] != nil {
		t.Errorf("%v", out)
	}
	if r := p.Call("undo", args{}); r.Err.GetCode() != "conflict" || !strings.Contains(r.Err.GetMessage(),
		"can't be undone") {
		t.Errorf("%q, %v", r.Text, r.Err)
	}
	if r := p.Call("history", args{}); !strings.Contains(r.Text, "can't be undone") {
		t.Errorf("history says %s", r.Text)
	}
}

// An interrupted command of another workspace hides nothing, and blocks undo in its own workspace until it is undone.
func TestUndoOfInterruptedCommand(t *testing.T) {
	o := sdktest.Options{Takeback: undo.StoreOptions{Dir: t.TempDir()}, Files: map[string]string{"f": "1"}}
	a, b := sdktest.Start(t, newPlugin(), o), sdktest.Start(t, newPlugin(), o)
	must(t, a, "write_file", args{"path": "f", "content": "2"})
	must(t, b, "write_file", args{"path": "f", "content": "2"})
	store, err := undo.Open(o.Takeback)
	if err != nil {
		t.Fatal(err)
	}
	files, err := workspace.OpenWorkspace(guard.Policy{Workspace: a.Dir, Restrict: true}, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	path := filepath.Join(a.Dir, "f")
	_ = store.NewRecorder(files, undo.RecordOptions{Tool: "exec", Summary: "exec: killed"}).BeforeChange(mutation.FileMutation{Kind: mutation.Write, Path: path})
	if err = os.WriteFile(path, []byte("3"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := b.Call("history", args{}); strings.Contains(r.Text, "killed") || strings.Contains(r.Text, a.Dir) {
		t.Errorf("the history of another workspace says\n%s", r.Text)
	}
	must(t, b, "undo", args{})
	wantContents(t, b, "f", "1")
	if r := a.Call("history", args{}); !strings.Contains(r.Text, "exec: killed  (interrupted, or still running)") || strings.Contains(r.Text, b.Dir) {
		t.Errorf("the history says\n%s", r.Text)
	}
	if r := a.Call("undo", args{}); r.Err == nil || !strings.Contains(r.Err.GetMessage(), "was killed, or still runs") {
		t.Errorf("%q, %v", r.Text, r.Err)
	}
	wantContents(t, a, "f", "3")
	id := must(t, a, "undo", args{"force": true})["undone"]
	wantContents(t, a, "f", "2")
	for _, force := range []bool{false, true} {
		if r := a.Call("undo", args{"id": id, "force": force}); r.Err == nil || !strings.Contains(r.Err.GetMessage(), "is already undone") {
			t.Errorf("%q, %v", r.Text, r.Err)
		}
	}
	must(t, a, "undo", args{})
	wantContents(t, a, "f", "1")
}

func TestForcedUndoSuggestsNoForce(t *testing.T) {
	p := start(t, map[string]string{"f": "old"})
	id := must(t, p, "mv", args{"source": "f", "destination": "g"})["undo"]
	if err := os.Remove(filepath.Join(p.Dir, "g")); err != nil {
		t.Fatal(err)
	}
	for _, force := range []bool{false, true} {
		r := p.Call("undo", args{"id": id, "force": force})
		if hint := r.Err.GetHint(); r.Err == nil || strings.Contains(hint, "force") == force {
			t.Errorf("force %v: %v", force, r.Err)
		}
	}
}

func TestUndoNamesOtherWorkspaces(t *testing.T) {
	t.Parallel()
	store := undo.StoreOptions{Dir: t.TempDir()}
	before := sdktest.Start(t, newPlugin(), sdktest.Options{Takeback: store})
	for _, name := range []string{"a", "b", "c"} {
		must(t, before, "write_file", args{"path": name, "content": "x"})
	}
	must(t, before, "undo", args{})
	moved := sdktest.Start(t, newPlugin(), sdktest.Options{Takeback: store})
	const want = "4 operations of workspaces with other paths"
	if r := moved.Call("history", args{}); r.Err != nil || !strings.Contains(r.Text, want) {
		t.Errorf("history: %q %v", r.Text, r.Err)
	}
	if r := moved.Call("undo", args{}); r.Err == nil || !strings.Contains(r.Err.GetMessage(), want) {
		t.Errorf("undo: %q %v", r.Text, r.Err)
	}
	if err := errors.Join(os.Rename(store.Dir, store.Dir+".away"), os.WriteFile(store.Dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if r := moved.Call("history", args{}); r.Err == nil || r.Text != "" {
		t.Errorf("history of an unreadable store: %q %v", r.Text, r.Err)
	}
}
