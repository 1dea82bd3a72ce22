package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

type args = map[string]any

func TestEditKeepsOtherBytes(t *testing.T) {
	for name, test := range map[string]struct{ before, from, to, after string }{
		"plain":     {"one two three", "two", "2", "one 2 three"},
		"CRLF":      {"a\r\nb\r\nc\r\n", "b", "B", "a\r\nB\r\nc\r\n"},
		"BOM":       {"\xef\xbb\xbfa b", "b", "c", "\xef\xbb\xbfa c"},
		"cp1252":    {"caf\xe9 \x80 old", "old", "new", "caf\xe9 \x80 new"},
		"UTF-16":    {"\xff\xfea\x00b\x00", "b", "é", "\xff\xfea\x00\xe9\x00"},
		"no end":    {"a\nb", "b", "c", "a\nc"},
		"to empty":  {"a b", " b", "", "a"},
		"multiline": {"f() {\n\treturn 1\n}\n", "{\n\treturn 1\n}", "{}", "f() {}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := sdktest.Start(t, newPlugin(), sdktest.Options{Files: map[string]string{"f": test.before}})
			r := p.Call("edit_file", args{"path": "f", "old_text": test.from, "new_text": test.to})
			if r.Err != nil || r.Text != "File edited: f" {
				t.Fatalf("%q, %v", r.Text, r.Err)
			}
			if got := contents(t, p, "f"); got != test.after {
				t.Errorf("the file has %q in it; want %q", got, test.after)
			}
		})
	}
}

// A file in an encoding that is not named takes ASCII only: UTF-8 in it would be a second one.
func TestEditKeepsSingleEncoding(t *testing.T) {
	const before = "caf\xe9\n"
	p := sdktest.Start(t, newPlugin(), sdktest.Options{Files: map[string]string{"f": before}})
	for tool, call := range map[string]args{
		"edit_file":   {"path": "f", "old_text": "caf", "new_text": "th\u00e9"},
		"append_file": {"path": "f", "content": "th\u00e9"},
		"insert":      {"path": "f", "line": 1, "content": "th\u00e9"},
		"edit":        {"path": "f", "old_string": "caf", "new_string": "th\u00e9"},
	} {
		if r := p.Call(tool, call); !strings.Contains(r.Err.GetMessage(), "is not plain ASCII; nothing was changed") ||
			r.Err.GetHint() == "" {
			t.Errorf("%s: %q, %v", tool, r.Text, r.Err)
		}
		wantContents(t, p, "f", before)
	}
	must(t, p, "append_file", args{"path": "f", "content": "tea\n"})
	must(t, p, "insert", args{"path": "f", "line": 3, "content": "th\u00e9", "encoding": "windows-1252"})
	wantContents(t, p, "f", before+"tea\nth\xe9\n")
}

func TestRefusedEditsKeepFile(t *testing.T) {
	const before = "aaa bbb aaa\n"
	p := sdktest.Start(t, newPlugin(), sdktest.Options{Files: map[string]string{"f": before, "many": strings.Repeat("x\n",
		28)}})
	for _, test := range []struct{ path, from, to, want string }{
		{"f", "ccc", "d", "old_text not found in file. Make sure it matches exactly"},
		{"f", "aaa", "d", "old_text appears 2 times. Please provide more context to make it unique"},
		{"f", "aa", "d", "old_text appears 4 times. Please provide more context to make it unique"},
		{"many", "x", "d", "old_text appears 28 times. Please provide more context to make it unique"},
		{"f", "", "d", "old_text is empty"},
		{"f", "bbb", "bbb", "old_text and new_text are the same; nothing to edit"},
		{"missing", "a", "b", "failed to edit file: file not found"},
	} {
		r := p.Call("edit_file", args{"path": test.path, "old_text": test.from, "new_text": test.to})
		if first, _, _ := strings.Cut(r.Err.GetMessage(), "\n"); first != test.want {
			t.Errorf("%q for %q: %v; want %s", test.from, test.to, r.Err, test.want)
		}
	}
	if got := contents(t, p, "f"); got != before {
		t.Errorf("the file has %q in it", got)
	}
	if _, err := os.Lstat(filepath.Join(p.Dir, "missing")); err == nil {
		t.Error("an edit has made a file")
	}
}

func TestParallelEditsAndAppendsAllSurvive(t *testing.T) {
	var before strings.Builder
	for i := range 20 {
		before.WriteString("place" + string(rune('a'+i)) + "\n")
	}
	p := sdktest.Start(t, newPlugin(), sdktest.Options{Files: map[string]string{"f": before.String(), "log": ""}})
	var wg sync.WaitGroup
	for i := range 20 {
		name := "place" + string(rune('a'+i))
		wg.Go(func() {
			if r := p.Call("edit_file", args{"path": "f", "old_text": name, "new_text": "done"}); r.Err != nil {
				t.Error(r.Err)
			}
		})
		wg.Go(func() {
			if r := p.Call("append_file", args{"path": "log", "content": name + "\n"}); r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
	wg.Wait()
	if got := contents(t, p, "f"); got != strings.Repeat("done\n", 20) {
		t.Errorf("of 20 edits these are left: %q", got)
	}
	if got := strings.Count(contents(t, p, "log"), "\n"); got != 20 {
		t.Errorf("%d of 20 appends survived", got)
	}
}

func TestAnyFileCanBeRead(t *testing.T) {
	p := sdktest.Start(t, newPlugin(), sdktest.Options{Files: map[string]string{
		"le": "\xff\xfea\x00\xe9\x00", "be": "\xfe\xff\x00a\x00\xe9", "cp1252": "caf\xe9", "empty": "", "binary": "\x00\x01",
	}})
	for name, want := range map[string]string{"le": "aé", "be": "aé",
		"cp1252": "caf\uFFFD\n[the file is not valid UTF-8; invalid bytes show as U+FFFD. Set encoding, such as windows-1252]", "empty": "",
		"binary": "binary file, 2 bytes, application/octet-stream, sha256 b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2; its bytes are not shown"} {
		if r := p.Call("read_file", args{"path": name}); r.Err != nil || r.Text != want {
			t.Errorf("%s: %q, %v; want %q", name, r.Text, r.Err, want)
		}
	}
}

func TestReadRefusesNonFiles(t *testing.T) {
	p := sdktest.Start(t, newPlugin(), sdktest.Options{Files: map[string]string{"dir/f": "x"}})
	if r := p.Call("read_file", args{"path": "dir"}); r.Err == nil ||
		r.Err.GetMessage() != "failed to read file: dir is a directory, not a regular file" {
		t.Errorf("reading a directory: %v", r.Err)
	}
	if r := p.Call("list_dir", args{"path": "dir/f"}); r.Err == nil {
		t.Errorf("listing a file: %q", r.Text)
	}
	if r := p.Call("list_dir", args{"path": "missing"}); r.Err == nil ||
		r.Err.GetMessage() != "failed to list directory: file not found" {
		t.Errorf("listing nothing: %v", r.Err)
	}
	if r := p.Call("list_dir", args{}); r.Text != "DIR: dir" {
		t.Errorf("listing the workspace: %q, %v", r.Text, r.Err)
	}
}

func TestReadDeniedFileIsReported(t *testing.T) {
	if os.Getuid() == 0 {
		return // root may read everything; the unprivileged run shows it
	}
	p := sdktest.Start(t, newPlugin(), sdktest.Options{Files: map[string]string{"closed": "x"}})
	if err := os.Chmod(filepath.Join(p.Dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	if r := p.Call("read_file", args{"path": "closed"}); r.Err == nil ||
		r.Err.GetMessage() != "failed to read file: access denied" {
		t.Errorf("reading what may not be read: %v", r.Err)
	}
}

func contents(t *testing.T, p *sdktest.Plugin, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Of two paths it is said which one is not there.
func TestTransferErrorNamesMissingPath(t *testing.T) {
	p := start(t, map[string]string{"here": ""})
	for _, tool := range []string{"cp", "mv"} {
		for _, c := range []struct{ source, destination, says, hint string }{
			{"gone", "there", "file not found", "there is no gone"},
			{"here", "no/such/there", "the directory of no/such/there is missing", "mkdir"},
		} {
			r := p.Call(tool, args{"source": c.source, "destination": c.destination})
			if r.Err == nil || r.Err.Code != "not_found" || !strings.Contains(r.Err.Message, c.says) ||
				!strings.Contains(r.Err.Hint, c.hint) {
				t.Errorf("%s %s to %s: %+v", tool, c.source, c.destination, r.Err)
			}
		}
	}
}
