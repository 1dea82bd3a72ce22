package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

const largeSize = 4 << 30 // bytes, nearly all of them a hole

// makeLarge makes a file that begins with a text and is too long to be read.
func makeLarge(t *testing.T, p *sdktest.Plugin, name, begins string) string {
	t.Helper()
	path := filepath.Join(p.Dir, name)
	if err := os.WriteFile(path, []byte(begins), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, largeSize); err != nil {
		t.Fatal(err)
	}
	return path
}

// bytesRead is how many bytes this process has read from anything, as the kernel counts them.
func bytesRead(t *testing.T) (n int64) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(data), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// longText is text that fills more than one answer, and more than what says that a file is text.
var longText = strings.Repeat("a line of some text\n", 100_000)

// What can't be kept is not read, and neither is what is only moved, or of which a part is wanted.
func TestHugeFilesAreNotReadCompletely(t *testing.T) {
	for name, call := range map[string]struct {
		tool string
		args args
		says string
	}{
		"delete":         {"rm", args{"path": "f"}, ""},
		"delete a tree":  {"rm", args{"path": ".", "recursive": true}, ""},
		"replace":        {"write_file", args{"path": "f", "content": "new"}, "more than one operation can save"},
		"replace, write": {"write", args{"path": "f", "content": "new"}, ""},
		"move":           {"mv", args{"source": "f", "destination": "g"}, ""},
		"move over":      {"mv", args{"source": "small", "destination": "f", "overwrite": true}, ""},
		"copy":           {"cp", args{"source": "f", "destination": "g"}, ""},
		"copy over":      {"cp", args{"source": "small", "destination": "f", "overwrite": true}, ""},
		"lines":          {"read_file", args{"path": "f"}, "[the file continues: 4294967296 bytes in total; next: start_line="},
		"later lines":    {"read", args{"path": "f", "start_line": 99_999, "end_line": 100_000}, "a line of some text"},
		"far lines": {"read_file", args{"path": "f", "start_line": 200_000},
			"line 200000 does not begin in the first 1073741824 bytes"},
		"bytes": {"read_file", args{"path": "f", "offset": 20, "length": 7}, "a line "},
		"binary": {"read_file", args{"path": "binary"},
			"binary file, 4294967296 bytes, font/ttf; its bytes are not shown; offset and length show some"},
		"binary bytes": {"read", args{"path": "binary", "offset": 0, "length": 2}, "00 01"},
		"describe":     {"file_stat", args{"path": "f"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, map[string]string{"small": "small"})
			at := p.Dir
			if call.args["path"] == "." {
				at = filepath.Join(p.Dir, "d")
				if err := os.Mkdir(at, 0o700); err != nil {
					t.Fatal(err)
				}
				call.args["path"] = "d"
			}
			for name, begins := range map[string]string{"f": longText, "binary": "\x00\x01"} {
				makeLarge(t, p, strings.TrimPrefix(filepath.Join(at, name), p.Dir), begins)
			}
			before := bytesRead(t)
			r := p.Call(call.tool, call.args)
			read := bytesRead(t) - before
			if r.Err != nil || !strings.Contains(r.Text, call.says) {
				t.Errorf("%.400q, %v; want %q", r.Text, r.Err, call.says)
			}
			// To pass by the lines before the one that is asked for, as far as it is done, takes reading them.
			if most := int64(64 << 20); read > most && name != "far lines" || read > maxFullReadBytes+most {
				t.Errorf("%d bytes were read", read)
			}
		})
	}
}

// The etag of a file that is too long to be read stands for it nevertheless: a change in the middle that leaves its
// length and its modification time shows.
func TestHugeFileEtagDetectsChanges(t *testing.T) {
	p := start(t, nil)
	path := makeLarge(t, p, "f", longText)
	etag := func() string {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if tag, _ := must(t, p, "read_file", args{"path": "f", "offset": 0, "length": 1})["etag"].(string); tag != "" {
				return tag
			}
		}
		t.Fatal("a file that nobody changes has no etag")
		return ""
	}
	seen := etag()
	if again := etag(); again != seen {
		t.Errorf("it was %s and is %s without a change", seen, again)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	change := func() {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("other"), largeSize/3); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	change()
	for range 2 { // right after the change, and when it is some time ago
		for tool, call := range map[string]args{
			"rm": {"path": "f"}, "mv": {"source": "f", "destination": "g"}, "cp": {"source": "f", "destination": "g"},
			"write_file": {"path": "f", "content": "new"}, "write": {"path": "f", "content": "new"},
		} {
			call["if_match"] = seen
			if r := p.Call(tool, call); r.Err.GetCode() != "conflict" || strings.Contains(r.Err.GetMessage(), "it is  now") {
				t.Errorf("%s: %q, %v", tool, r.Text, r.Err)
			}
		}
		etag()
	}
	must(t, p, "write_file", args{"path": "f", "content": "new", "if_match": etag()})
	wantContents(t, p, "f", "new")
}

// A move or a copy of a file that is not read is undone all the same, unless somebody changed the file since.
func TestUndoOfHugeFileTransfer(t *testing.T) {
	p := start(t, nil)
	path := makeLarge(t, p, "f", longText)
	must(t, p, "mv", args{"source": "f", "destination": "g"})
	must(t, p, "undo", args{})
	if info, err := os.Stat(path); err != nil || info.Size() != largeSize {
		t.Errorf("%v, %v", info, err)
	}
	must(t, p, "mv", args{"source": "f", "destination": "g"})
	if err := os.WriteFile(filepath.Join(p.Dir, "g"), bytes.ToUpper([]byte(longText)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := p.Call("undo", args{}); r.Err.GetCode() != "conflict" {
		t.Errorf("what was changed is moved back: %q, %v", r.Text, r.Err)
	}
	makeLarge(t, p, "f", longText)
	must(t, p, "cp", args{"source": "f", "destination": "h"})
	must(t, p, "undo", args{})
	if _, err := os.Lstat(filepath.Join(p.Dir, "h")); err == nil {
		t.Error("the copy is still there")
	}
}
