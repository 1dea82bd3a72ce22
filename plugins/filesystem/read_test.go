package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

func TestReadNumbersLines(t *testing.T) {
	p := start(t, map[string]string{"main.py": "import os\nimport sys\n" + strings.Repeat("x\n", 40)})
	out := must(t, p, "read", args{"path": "main.py", "start_line": 1, "end_line": 2})
	want := map[string]any{
		"path": filepath.Join(p.Dir, "main.py"), "content": " 1│import os\n 2│import sys\n", "total_lines": 42.0,
		"start_line": 1.0, "end_line": 2.0, "size_bytes": 101.0,
	}
	for key, value := range want {
		if out[key] != value {
			t.Errorf("%s is %v; want %v", key, out[key], value)
		}
	}
}

func TestReadFileParts(t *testing.T) {
	p := start(t, map[string]string{"f": "one\ntwo\nthree\nfour", "empty": "", "crlf": "a\r\nb\r\n", "wide": "aあb"})
	for _, test := range []struct {
		args args
		want string
	}{
		{args{"path": "f", "start_line": 2, "end_line": 3}, "two\nthree\n"},
		{args{"path": "f", "start_line": 4}, "four"},
		{args{"path": "f", "start_line": 3, "end_line": 99}, "three\nfour"},
		{args{"path": "f", "end_line": 1}, "one\n"},
		{args{"path": "f", "start_line": 5}, "[the file has 4 lines; there is no line 5]"},
		{args{"path": "f", "offset": 4, "length": 3}, "two"},
		{args{"path": "f", "offset": 14}, "four"},
		{args{"path": "f", "offset": 99}, ""},
		{args{"path": "wide", "offset": 0, "length": 2}, "a"},
		{args{"path": "wide", "offset": 0, "length": 4}, "aあ"},
		{args{"path": "empty"}, ""},
		{args{"path": "crlf", "start_line": 2}, "b\r\n"},
	} {
		if r := p.Call("read_file", test.args); r.Err != nil || r.Text != test.want {
			t.Errorf("%v: %q, %v; want %q", test.args, r.Text, r.Err, test.want)
		}
	}
	for _, a := range []args{{"path": "f", "start_line": 3, "end_line": 2}, {"path": "f", "start_line": 1, "offset": 0},
		{"path": "f", "encoding": "utf-99"}} {
		if r := p.Call("read_file", a); r.Err.GetCode() != "invalid_argument" {
			t.Errorf("%v: %q, %v", a, r.Text, r.Err)
		}
	}
}

// Files that are too long for one answer are read to their end by asking for what each answer names as next. What comes
// together is the file, whichever way it is read in.
func TestLongFilesAreReadInWindows(t *testing.T) {
	var lines, wide bytes.Buffer
	for i := 0; lines.Len() < 3<<20; i++ {
		fmt.Fprintf(&lines, "line %d of many\n", i)
	}
	for wide.Len() < 3<<20 {
		wide.WriteString("あ one line without an end ")
	}
	for name, content := range map[string]string{
		"lines": lines.String(), "wide": wide.String(), "mixed": "first\n" + wide.String() + "\nlast\n",
		"streamed": strings.Repeat(lines.String(), 3), "streamed wide": strings.Repeat(wide.String(), 3),
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, map[string]string{"f": content})
			var got strings.Builder
			a := args{"path": "f"}
			for calls := 0; ; calls++ {
				r := p.Call("read_file", a)
				var out readFileOutput
				if err := json.Unmarshal(r.Structured, &out); r.Err != nil || err != nil || calls > 100 {
					t.Fatalf("%d calls, %v, %v", calls, r.Err, err)
				}
				text := r.Text
				if out.Next != nil && a["offset"] == nil {
					at := strings.LastIndex(text, "[the file continues: ")
					text = text[:at]
					if out.Next.Offset != nil {
						text = strings.TrimSuffix(text, "\n") // the note begins a line
					}
				}
				got.WriteString(text)
				if len(text) > maxWholeText {
					t.Fatalf("one answer has %d bytes", len(text))
				}
				if out.Next == nil {
					break
				}
				if a = (args{"path": "f", "offset": out.Next.Offset}); out.Next.Offset == nil {
					a = args{"path": "f", "start_line": out.Next.StartLine}
				}
			}
			if got.String() != content {
				t.Errorf("%d bytes came together of %d", got.Len(), len(content))
			}
		})
	}
}

func TestImagesAreShown(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01"
	p := start(t, map[string]string{"i.png": png, "i.bin": "\x00\x01\x02"})
	for _, tool := range []string{"read_file", "read"} {
		if r := p.Call(tool, args{"path": "i.png"}); r.Err != nil || len(r.Content) != 2 ||
			r.Content[1].MediaType != "image/png" || string(r.Content[1].Data) != png {
			t.Errorf("%s: %v, %v", tool, r.Content, r.Err)
		}
		if r := p.Call(tool, args{"path": "i.bin"}); r.Err != nil || r.Content != nil || !strings.Contains(r.Text,
			"binary file, 3 bytes, application/octet-stream, sha256 ") {
			t.Errorf("%s: %q, %v", tool, r.Text, r.Err)
		}
	}
}

func TestLs(t *testing.T) {
	p := start(t, map[string]string{"a.py": "12345", "b.txt": "", "sub/c.py": "1", "sub/deep/d.py": "", ".hidden": "",
		".dir/e.py": "", "x\ny": ""})
	if err := os.Symlink("a.py", filepath.Join(p.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args args
		want string
	}{
		{args{}, "a.py file 5, b.txt file 0, link symlink, sub dir, x\ny file 0"},
		{args{"pattern": "*.py"}, "a.py file 5"},
		{args{"pattern": "*.py", "recursive": true}, "a.py file 5, sub/c.py file 1, sub/deep/d.py file 0"},
		{args{"pattern": "sub/*.py", "recursive": true}, "sub/c.py file 1"},
		{args{"pattern": "**/{c,d}.py", "recursive": true}, "sub/c.py file 1, sub/deep/d.py file 0"},
		{args{"include_hidden": true, "pattern": ".*"}, ".dir dir, .hidden file 0"},
		{args{"path": "sub", "recursive": true}, "c.py file 1, deep dir, deep/d.py file 0"},
		{args{"recursive": true, "after": "sub/c.py"}, "sub/deep dir, sub/deep/d.py file 0, x\ny file 0"},
	} {
		var got []string
		for _, entry := range must(t, p, "ls", test.args)["entries"].([]any) {
			e := entry.(map[string]any)
			s := fmt.Sprintf("%v %v", e["name"], e["type"])
			if e["type"] == "file" {
				s += fmt.Sprintf(" %v", e["size_bytes"])
			}
			got = append(got, s)
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%v: %q; want %q", test.args, strings.Join(got, ", "), test.want)
		}
	}
	if note := must(t, p, "ls", args{"pattern": "**/c.py"})["note"]; !strings.Contains(fmt.Sprint(note), "recursive") {
		t.Errorf("a pattern for what is below, of a listing that does not go there: %v", note)
	}
	for _, a := range []args{{"pattern": "[a"}, {"path": "a.py"}, {"path": "missing"}, {"path": ".."}} {
		if r := p.Call("ls", a); r.Err == nil {
			t.Errorf("%v: %s", a, r.Text)
		}
	}
	if r := p.Call("list_dir", args{}); strings.Count(r.Text, "\n") != 6 || !strings.Contains(r.Text, `FILE: "x\ny"`) {
		t.Errorf("a name forges a line: %q", r.Text)
	}
}

func TestLongListingsComeInPages(t *testing.T) {
	p := start(t, nil)
	const all = listPage + 500
	for i := range all {
		if err := os.Symlink("x", filepath.Join(p.Dir, fmt.Sprintf("n%06d", i))); err != nil {
			t.Fatal(err)
		}
	}
	out := must(t, p, "ls", args{})
	rest := must(t, p, "ls", args{"after": out["next"]})
	if out["count"] != float64(listPage) || rest["count"] != 500.0 || rest["next"] != nil {
		t.Errorf("pages of %v and %v, then %v", out["count"], rest["count"], rest["next"])
	}
	first := p.Call("list_dir", args{}).Text
	if !strings.HasSuffix(first, fmt.Sprintf("\n[%d entries in all; next: after=n%06d]", all, listPage-1)) {
		t.Errorf("the page ends in %q", first[len(first)-80:])
	}
	if r := p.Call("list_dir", args{"after": fmt.Sprintf("n%06d", listPage-1)}); strings.Count(r.Text, "\n") != 499 {
		t.Errorf("%d lines", strings.Count(r.Text, "\n")+1)
	}
}

// Listings of long names stay short enough for one answer, and page by page there is everything once.
func TestListingsOfLongNamesComeInPages(t *testing.T) {
	files := map[string]string{}
	for i := range 6000 {
		files[fmt.Sprintf("d%02d/%03d%s", i/300, i%300, strings.Repeat("x", 247))] = ""
	}
	p := start(t, files)
	seen, pages := 0, 0
	for after := ""; ; pages++ {
		r := p.Call("ls", args{"recursive": true, "after": after})
		var out lsOutput
		if err := json.Unmarshal(r.Structured, &out); r.Err != nil || err != nil {
			t.Fatal(r.Err, err)
		}
		if len(r.Structured) > 2<<20 {
			t.Fatalf("an answer of %d bytes", len(r.Structured))
		}
		if seen += out.Count; out.Next == "" {
			break
		}
		after = out.Next
	}
	if seen != 6020 || pages < 1 {
		t.Errorf("%d entries on %d pages; want 6020 on several", seen, pages+1)
	}
	r := p.Call("list_dir", args{"path": "d00", "after": ""})
	if r.Err != nil || strings.Count(r.Text, "FILE: ") != 300 {
		t.Errorf("%.100q, %v", r.Text, r.Err)
	}
}

func TestFileStat(t *testing.T) {
	p := start(t, map[string]string{"main.py": "12345", "d/x": ""})
	if err := os.Symlink("main.py", filepath.Join(p.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]map[string]any{
		"main.py": {"path": filepath.Join(p.Dir, "main.py"), "name": "main.py", "type": "file", "size_bytes": 5.0,
			"permissions": "0o644", "is_symlink": false},
		"link": {"path": filepath.Join(p.Dir, "main.py"), "type": "file", "size_bytes": 5.0, "is_symlink": true,
			"link_target": "main.py"},
		"d": {"name": "d", "type": "dir", "permissions": "0o755", "is_symlink": false},
	} {
		out := must(t, p, "file_stat", args{"path": path})
		for key, value := range want {
			if out[key] != value {
				t.Errorf("%s of %s is %v; want %v", key, path, out[key], value)
			}
		}
		if modified, _ := out["modified"].(float64); modified < 1.7e9 {
			t.Errorf("%s was modified at %v", path, out["modified"])
		}
		if _, ok := out["created"]; !ok {
			t.Errorf("%s says nothing of when it was created", path)
		}
	}
}

func TestLimitsAreCheckedBeforeReading(t *testing.T) {
	p := sdktest.Start(t, newPlugin(), sdktest.Options{
		Files:  map[string]string{"in/large": "12345678901", "in/small": "1", "out": "1"},
		Policy: func(g *guard.Policy) { g.MaxFileSize = 10; g.Paths = []string{filepath.Join(g.Workspace, "in")} },
	})
	for _, call := range []struct {
		tool string
		args args
		code string
	}{
		{"read_file", args{"path": "in/large"}, "too_large"}, {"read", args{"path": "in/large", "end_line": 1}, "too_large"},
		{"write", args{"path": "in/n", "content": "12345678901"}, "too_large"},
		{"append_file", args{"path": "in/small", "content": "1234567890"}, "too_large"},
		{"edit", args{"path": "in/small", "old_string": "1", "new_string": "12345678901"}, "too_large"},
		{"insert", args{"path": "in/small", "line": 1, "content": "1234567890"}, "too_large"},
		{"cp", args{"source": "in/large", "destination": "in/c"}, "too_large"},
		{"mv", args{"source": "in/large", "destination": "in/m"}, "too_large"},
		{"read", args{"path": "out"}, "access_denied"}, {"ls", args{}, "access_denied"},
		{"write", args{"path": "o2", "content": ""}, "access_denied"},
		{"cp", args{"source": "in/small", "destination": "o2"}, "access_denied"},
		{"mv", args{"source": "out", "destination": "in/o"}, "access_denied"},
		{"rm", args{"path": "out"}, "access_denied"}, {"mkdir", args{"path": "d"}, "access_denied"},
		{"file_stat", args{"path": "out"}, "access_denied"},
	} {
		if r := p.Call(call.tool, call.args); r.Err.GetCode() != call.code {
			t.Errorf("%s %v: %v; want %s", call.tool, call.args, r.Err, call.code)
		}
	}
	if r := p.Call("read", args{"path": "out"}); r.Err.GetMessage() != "Path '"+filepath.Join(p.Dir, "out")+"' is outside allowed paths" {
		t.Errorf("%v", r.Err)
	}
}

// A file's length does not show in memory: that of a long one is that of a window.
func TestLongFilesTakeLittleMemory(t *testing.T) {
	p := start(t, map[string]string{"sparse": "text\n", "line": ""})
	if err := errors.Join(os.Truncate(filepath.Join(p.Dir, "sparse"), 600<<20),
		os.Truncate(filepath.Join(p.Dir, "line"), 0)); err != nil {
		t.Fatal(err)
	}
	line, err := os.OpenFile(filepath.Join(p.Dir, "line"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if _, err := line.WriteString(strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := line.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, name := range []string{"sparse", "line"} {
		for _, tool := range []string{"read_file", "read"} {
			if r := p.Call(tool, args{"path": name}); r.Err != nil || len(r.Text) > 1<<20 {
				t.Errorf("%s of %s: %d bytes, %v", tool, name, len(r.Text), r.Err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.Sys - before.Sys; grown > 32<<20 {
		t.Errorf("reading took %d MiB", grown>>20)
	}
}
