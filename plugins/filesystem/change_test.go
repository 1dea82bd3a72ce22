package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

func start(t *testing.T, files map[string]string) *sdktest.Plugin {
	t.Helper()
	return sdktest.Start(t, newPlugin(), sdktest.Options{Files: files})
}

// must calls a tool that has to work and returns a field of its structured result.
func must(t *testing.T, p *sdktest.Plugin, tool string, a args) map[string]any {
	t.Helper()
	r := p.Call(tool, a)
	if r.Err != nil {
		t.Fatalf("%s %v: %v", tool, a, r.Err)
	}
	var out map[string]any
	if err := json.Unmarshal(r.Structured, &out); err != nil {
		t.Fatalf("%s: %q is no JSON: %v", tool, r.Structured, err)
	}
	if id, _ := out["undo"].(string); r.Undo != id {
		t.Errorf("%s: the host is told the undo id %q, the agent %q", tool, r.Undo, id)
	}
	return out
}

func wantContents(t *testing.T, p *sdktest.Plugin, name, want string) {
	t.Helper()
	if got := contents(t, p, name); got != want {
		t.Errorf("%s has %q in it; want %q", name, got, want)
	}
}

func TestChangesReturnReadableEtag(t *testing.T) {
	p := start(t, map[string]string{"f": "one\n"})
	etag := must(t, p, "read_file", args{"path": "f"})["etag"]
	if again := must(t, p, "read", args{"path": "f"})["etag"]; again != etag {
		t.Errorf("read says %v, read_file %v", again, etag)
	}
	for _, call := range []struct {
		tool string
		args args
	}{
		{"write_file", args{"path": "f", "content": "a\nb\n"}}, {"edit_file", args{"path": "f", "old_text": "a",
			"new_text": "A"}},
		{"append_file", args{"path": "f", "content": "c\n"}}, {"insert", args{"path": "f", "line": 1, "content": "top"}},
		{"write", args{"path": "f", "content": "x\ny\n"}}, {"edit", args{"path": "f", "old_string": "x", "new_string": "X"}},
	} {
		call.args["if_match"] = etag
		said := must(t, p, call.tool, call.args)["etag"]
		if etag = must(t, p, "file_stat", args{"path": "f"})["etag"]; said != etag {
			t.Errorf("%s says %v; the file is %v", call.tool, said, etag)
		}
	}
	wantContents(t, p, "f", "X\ny\n")
}

func TestConflictShowsDiff(t *testing.T) {
	for tool, a := range map[string]args{
		"write_file": {"content": "mine"}, "edit_file": {"old_text": "one", "new_text": "1"},
		"append_file": {"content": "mine"},
		"insert":      {"line": 1, "content": "mine"}, "write": {"content": "mine"},
		"edit": {"old_string": "one", "new_string": "1"},
		"rm":   {}, "mv": {"source": "f", "destination": "g"}, "cp": {"source": "f", "destination": "g"},
	} {
		t.Run(tool, func(t *testing.T) {
			p := start(t, map[string]string{"f": "one\ntwo\n"})
			etag := must(t, p, "read_file", args{"path": "f"})["etag"]
			const theirs = "one\n2\n"
			if err := os.WriteFile(filepath.Join(p.Dir, "f"), []byte(theirs), 0o600); err != nil {
				t.Fatal(err)
			}
			if a["if_match"] = etag; a["source"] == nil {
				a["path"] = "f"
			}
			r := p.Call(tool, a)
			if r.Err == nil || r.Err.GetCode() != "conflict" {
				t.Fatalf("%q, %v", r.Text, r.Err)
			}
			if !strings.Contains(r.Err.GetMessage(), "\n-two\n+2\n") {
				t.Errorf("there is no diff in %q", r.Err.GetMessage())
			}
			wantContents(t, p, "f", theirs)
		})
	}
}

// The version that a caller has seen is known to the next process too, and so is one that a change has replaced.
func TestConflictDiffAfterRestart(t *testing.T) {
	state := t.TempDir()
	var etag any
	var dir string
	t.Run("first", func(t *testing.T) {
		p := sdktest.Start(t, newPlugin(), sdktest.Options{Files: map[string]string{"f": "one\ntwo\n"}, StateDir: state})
		etag, dir = must(t, p, "read_file", args{"path": "f"})["etag"], p.Dir
	})
	p := sdktest.Start(t, newPlugin(), sdktest.Options{Files: map[string]string{"f": "one\n2\n"}, StateDir: state})
	if r := p.Call("write_file", args{"path": "f", "content": "x",
		"if_match": etag}); !strings.Contains(r.Err.GetMessage(), "\n-two\n+2\n") {
		t.Errorf("after %s: %v", dir, r.Err)
	}
}

func TestIfMatchAbsentCreatesFileOnce(t *testing.T) {
	p := start(t, nil)
	must(t, p, "write_file", args{"path": "f", "content": "first", "if_match": "absent"})
	if r := p.Call("write_file", args{"path": "f", "content": "second",
		"if_match": "absent"}); r.Err.GetCode() != "conflict" {
		t.Errorf("%q, %v", r.Text, r.Err)
	}
	if r := p.Call("write_file", args{"path": "g", "content": "x",
		"if_match": "0123456789abcdef"}); r.Err.GetCode() != "conflict" {
		t.Errorf("%q, %v", r.Text, r.Err)
	}
	wantContents(t, p, "f", "first")
}

func TestSeveralEditsAreMadeOrNone(t *testing.T) {
	files := map[string]string{"a": "1\n2\n3\n", "b": "x\r\ny\r\n"}
	for _, tool := range []string{"edit_file", "edit"} {
		old, new := "old_text", "new_text"
		if tool == "edit" {
			old, new = "old_string", "new_string"
		}
		good := []args{{"path": "a", old: "1", new: "one"}, {"path": "a", old: "one\n2", new: "both"},
			{"path": "b", old: "x\ny", new: "z"}}
		p := start(t, files)
		r := p.Call(tool, args{"edits": append(good[:3:3], args{"path": "b", old: "missing", new: "q"})})
		if !strings.HasPrefix(r.Err.GetMessage(), "edits[3], b: "+old+" not found in file. Make sure it matches exactly") ||
			!strings.HasSuffix(r.Err.GetMessage(), "nothing was changed in any file") {
			t.Errorf("%s: %v", tool, r.Err)
		}
		wantContents(t, p, "a", files["a"])
		wantContents(t, p, "b", files["b"])

		dry := must(t, p, tool, args{"edits": good, "dry_run": true})
		diff, _ := dry["diff"].(string)
		for _, line := range []string{"-1\n", "-2\n", "+both\n", "-x\r\n", "-y\r\n", "+z\r\n"} {
			if !strings.Contains(diff, line) {
				t.Errorf("%s: there is no %q in the diff %q", tool, line, diff)
			}
		}
		wantContents(t, p, "a", files["a"])

		must(t, p, tool, args{"edits": good})
		wantContents(t, p, "a", "both\n3\n")
		wantContents(t, p, "b", "z\r\n")
		must(t, p, "undo", args{})
		wantContents(t, p, "a", files["a"])
		wantContents(t, p, "b", files["b"])
	}
}

func TestChangesKeepUnrelatedBytes(t *testing.T) {
	for name, test := range map[string]struct {
		before, tool string
		args         args
		after        string
	}{
		"UTF-16, written":  {"\xff\xfea\x00", "write_file", args{"content": "é"}, "\xff\xfe\xe9\x00"},
		"BOM, written":     {"\xef\xbb\xbfa", "write", args{"content": "b"}, "\xef\xbb\xbfb"},
		"UTF-16, appended": {"\xfe\xff\x00a", "append_file", args{"content": "b"}, "\xfe\xff\x00a\x00b"},
		"CRLF, appended":   {"a\r\n", "append_file", args{"content": "b\n"}, "a\r\nb\r\n"},
		"CRLF, inserted":   {"a\r\nb\r\n", "insert", args{"line": 2, "content": "x\ny"}, "a\r\nx\r\ny\r\nb\r\n"},
		"CR, appended":     {"a\rb\r", "append_file", args{"content": "c\nd\n"}, "a\rb\rc\rd\r"},
		"CR, inserted":     {"a\rb\r", "insert", args{"line": 1, "content": "c"}, "c\ra\rb\r"},
		"CR, edited":       {"a\rb\r", "edit", args{"old_string": "b", "new_string": "c\nd"}, "a\rc\rd\r"},
		"ISO-2022-JP, edited": {"\x1b$B$\"$$\x1b(B x\n\x1b$B$&\x1b(B\n", "edit",
			args{"old_string": "い x", "new_string": "う y", "encoding": "iso-2022-jp"},
			"\x1b$B$\"$&\x1b(B y\n\x1b$B$&\x1b(B\n"},
		"no end, inserted": {"a\nb", "insert", args{"line": 3, "content": "c\n"}, "a\nb\nc"},
		"an empty file":    {"", "insert", args{"line": 1, "content": "a"}, "a\n"},
		"cp1252, edited": {"caf\xe9 x", "edit", args{"old_string": "x", "new_string": "é",
			"encoding": "windows-1252"}, "caf\xe9 \xe9"},
		"binary, appended":       {"a\r\n\x00", "append_file", args{"content": "b\n"}, "a\r\n\x00b\n"},
		"all, counted":           {"b b b", "edit", args{"old_string": "b", "new_string": "x", "count": 0}, "x x x"},
		"two, counted":           {"b b b", "edit", args{"old_string": "b", "new_string": "x", "count": 2}, "x x b"},
		"given encoding, anew":   {"a", "write", args{"content": "é", "encoding": "latin-1"}, "\xe9"},
		"line endings, as given": {"a\r\n", "write_file", args{"content": "b\n"}, "b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, map[string]string{"f": test.before})
			test.args["path"] = "f"
			must(t, p, test.tool, test.args)
			wantContents(t, p, "f", test.after)
			must(t, p, "undo", args{})
			wantContents(t, p, "f", test.before)
		})
	}
	p := start(t, map[string]string{"f": "caf\xe9 x"})
	if r := p.Call("edit_file", args{"path": "f", "old_text": "x",
		"new_text": "é"}); r.Err.GetCode() != "invalid_argument" {
		t.Errorf("a file in two encodings: %q, %v", r.Text, r.Err)
	}
	wantContents(t, p, "f", "caf\xe9 x")
}

func TestChangeNotes(t *testing.T) {
	p := start(t, map[string]string{"f": "a\n", "crlf": "a\r\nb\r\n", "tabs": "\tx\n\ty\n",
		"py": "def f():\n\treturn 1\n"})
	if err := os.Link(filepath.Join(p.Dir, "f"), filepath.Join(p.Dir, "g")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tool string
		args args
		want string
	}{
		{"write_file", args{"path": "f", "content": "b"},
			"File written: f\nnote: the file had 2 names (hard links); the others keep the old contents"},
		{"edit_file", args{"path": "crlf", "old_text": "a\nb", "new_text": "c"},
			"File edited: crlf\nnote: old_text was found at line 1 with other line endings; the file's line endings stay"},
		{"edit_file", args{"path": "tabs", "old_text": "    x\n    y", "new_text": "    z"},
			"File edited: tabs\nnote: old_text was found at line 1 with another unit of indentation; that of the file was used"},
	} {
		if r := p.Call(test.tool, test.args); r.Err != nil || r.Text != test.want {
			t.Errorf("%q, %v; want %q", r.Text, r.Err, test.want)
		}
	}
	r := p.Call("edit", args{"path": "f", "old_string": "b", "new_string": "c", "count": 5})
	if want := "old_string occurs once, fewer than count (5); all were replaced"; r.Err != nil ||
		!strings.Contains(r.Text, want) {
		t.Errorf("%q, %v; want %q", r.Text, r.Err, want)
	}
	for name, old := range map[string]string{"nonl": "y = 2\n", "nonlcrlf": "b\r\nc\r\n"} {
		const says = "the file ends without a newline: leave the one at the end of old_text out"
		if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(map[string]string{"nonl": "x = 1\ny = 2", "nonlcrlf": "a\r\nb\r\nc"}[name]), 0o600); err != nil {
			t.Fatal(err)
		}
		r := p.Call("edit_file", args{"path": name, "old_text": old, "new_text": "x"})
		if !strings.HasSuffix(r.Err.GetMessage(), "Make sure it matches exactly\n"+says) {
			t.Errorf("%s: %q", name, r.Err.GetMessage())
		}
	}
	const miss = "old_text not found in file. Make sure it matches exactly\nnearest in the file (· is a space, → a tab, ␍ a carriage return):\n1│def f():\n2│→return 1"
	if r := p.Call("edit_file", args{"path": "py", "old_text": "def g():\n\treturn 1",
		"new_text": "x"}); r.Err.GetMessage() != miss {
		t.Errorf("%q; want %q", r.Err.GetMessage(), miss)
	}
}

// Who may write a file and not read it learns nothing about what is in it.
func TestEditDoesNotRevealUnreadableFile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(outside, []byte("the password is swordfish\nthe password is swordfish\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := sdktest.Start(t, newPlugin(), sdktest.Options{Policy: func(g *guard.Policy) {
		g.AllowWritePaths = []string{"^" +
			outside + "$"}
	}})
	for tool, a := range map[string]args{
		"edit_file":  {"old_text": "the password is sword", "new_text": "x"},
		"edit":       {"old_string": "the password is swor fish", "new_string": "x"},
		"write":      {"content": "x", "if_match": "0123456789abcdef"},
		"write_file": {"content": "x", "dry_run": true},
		"insert":     {"line": 1, "content": "x", "dry_run": true},
		"read_file":  {}, "read": {}, "file_stat": {},
	} {
		a["path"] = outside
		r := p.Call(tool, a)
		if all := r.Text + string(r.Structured) + r.Err.GetMessage(); strings.Contains(all, "swordfish") ||
			strings.Contains(all, "sword\n") {
			t.Errorf("%s tells %q", tool, all)
		}
	}
	if r := p.Call("insert", args{"path": outside, "line": 1, "content": "first"}); r.Err != nil ||
		strings.Contains(string(r.Structured), "password") {
		t.Errorf("%s, %v", r.Structured, r.Err)
	}
}

// A file that may be written and read outside, alone, is edited and its edit taken back.
func TestSingleAllowedFileIsEditedAndRestored(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(outside, []byte("old\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	p := sdktest.Start(t, newPlugin(), sdktest.Options{Policy: func(g *guard.Policy) {
		g.AllowWritePaths, g.AllowReadPaths = []string{"^" + outside + "$"}, []string{"^" + outside + "$"}
	}})
	must(t, p, "edit_file", args{"path": outside, "old_text": "old", "new_text": "new"})
	must(t, p, "undo", args{})
	data, err := os.ReadFile(outside)
	info, statErr := os.Stat(outside)
	if err != nil || statErr != nil || string(data) != "old\n" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q, %v", data, info.Mode())
	}
}
