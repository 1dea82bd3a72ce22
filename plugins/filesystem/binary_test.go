package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The bytes of a binary file that are asked for are shown, and of a long one nothing else is read.
func TestReadBinaryBytes(t *testing.T) {
	p := start(t, map[string]string{"short": "\x7fELF\x00\x01\x02\xff"})
	long, err := os.Create(filepath.Join(p.Dir, "long"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := long.WriteAt([]byte("\x01\x02\x03\x04"), 1<<30); err != nil { // with a hole before, which takes no room
		t.Fatal(err)
	}
	if err := long.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args args
		want string
		next int64
		etag bool
	}{
		{args{"path": "short", "offset": 4, "length": 3},
			"binary file, 8 bytes, application/octet-stream; of these 3 from 4 on, in hexadecimal:\n00 01 02", 7, true},
		{args{"path": "short", "offset": 4}, "of these 4 from 4 on, in hexadecimal:\n00 01 02 ff", 0, true},
		{args{"path": "short", "offset": 99}, "of these 0 from 8 on", 0, true},
		{args{"path": "long", "offset": 1<<30 - 1, "length": 3}, "of these 3 from 1073741823 on, in hexadecimal:\n00 01 02",
			1<<30 + 2, false},
		{args{"path": "long", "offset": 1 << 30}, "of these 4 from 1073741824 on, in hexadecimal:\n01 02 03 04", 0, false},
		{args{"path": "long", "offset": 0, "length": 1 << 20}, "of these 4096 from 0 on", 4096, false},
	} {
		r := p.Call("read_file", test.args)
		if r.Err != nil {
			t.Fatalf("%v: %v", test.args, r.Err)
		}
		var out readFileOutput
		if err := json.Unmarshal(r.Structured, &out); err != nil {
			t.Fatal(err)
		}
		next := int64(0)
		if out.Next != nil {
			next = *out.Next.Offset
		}
		if !strings.Contains(r.Text, test.want) || !out.Binary || next != test.next || (out.Etag != "") != test.etag {
			t.Errorf("%v: %.200q, next %d, etag %q", test.args, r.Text, next, out.Etag)
		}
	}
}
