package text

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

func TestAddLineNumbers(t *testing.T) {
	for _, test := range []struct {
		s              string
		first, largest int
		want           string
	}{
		{"import os\nimport sys\n", 1, 42, " 1│import os\n 2│import sys\n"},
		{"a\r\nb", 9, 10, " 9│a\n10│b"},
		{"\n\n", 1, 2, "1│\n2│\n"},
		{"", 1, 0, ""},
	} {
		if got := AddLineNumbers(test.s, test.first, test.largest); got != test.want {
			t.Errorf("%q; want %q", got, test.want)
		}
	}
}

func TestShowWhitespace(t *testing.T) {
	for line, want := range map[string]string{
		"\tx y  \r\n": "→x y··␍", "  a\tb": "··a→b", "\x1b[31m": `\x1b[31m`, "é": "é", "a\u202eb": `a\u202eb`,
	} {
		if got := ShowWhitespace(line); got != want {
			t.Errorf("%q shows as %q; want %q", line, got, want)
		}
	}
}

func TestEncodings(t *testing.T) {
	for name, test := range map[string]struct{ text, data string }{
		"utf-8": {"é", "\xc3\xa9"}, "utf-8-sig": {"é", "\xef\xbb\xbf\xc3\xa9"}, "utf-16": {"é", "\xff\xfe\xe9\x00"},
		"utf-16-be": {"é", "\x00\xe9"}, "latin-1": {"é", "\xe9"}, "windows-1252": {"€", "\x80"},
		"Shift_JIS": {"あ", "\x82\xa0"},
	} {
		e, err := FindEncoding(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := e.EncodeFile(test.text); err != nil || string(got) != test.data {
			t.Errorf("%s: %q is %q, %v", name, test.text, got, err)
		}
		if got, err := e.Decode([]byte(test.data)); err != nil || got != test.text {
			t.Errorf("%s: %q reads as %q, %v", name, test.data, got, err)
		}
	}
	if _, err := FindEncoding("utf-99"); err == nil {
		t.Error("utf-99 is known")
	}
	latin, _ := FindEncoding("latin-1")
	if _, err := latin.Encode("あ"); err == nil {
		t.Error("latin-1 has あ")
	}
}

// A splice changes its place and no other byte, in every encoding, or nothing.
func FuzzSplice(f *testing.F) {
	f.Add([]byte("\xff\xfea\x00b\x00"), 1, 1, "é")
	f.Add([]byte("\xff\xfe\x00\xd8a\x00"), 3, 1, "x")
	f.Add([]byte("caf\xe9"), 0, 1, "C")
	f.Fuzz(func(t *testing.T, data []byte, from, length int, with string) {
		e := DetectEncoding(data)
		s, err := e.Decode(data)
		if err != nil || from < 0 || length < 0 || from > len(s) || length > len(s)-from {
			return
		}
		to := from + length
		if !utf8.ValidString(with) || !edge(s, from) || !edge(s, to) {
			return
		}
		out, err := e.ReplaceRange(data, s, from, to, with)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(out, e.Mark) {
			t.Fatalf("the mark of %q is gone: %q", data, out)
		}
		insert, _ := e.Encode(with)
		if grown := len(out) - len(data); grown > len(insert) {
			t.Fatalf("%d bytes more, of %d inserted", grown, len(insert))
		}
		before := 0
		for before < min(len(data), len(out)) && data[before] == out[before] {
			before++
		}
		after := 0
		for after < min(len(data), len(out))-before && data[len(data)-1-after] == out[len(out)-1-after] {
			after++
		}
		removed := 0
		if e.IsPassthrough() {
			removed = length
		} else if middle, err := e.Encode(s[from:to]); err == nil {
			removed = len(middle)
		}
		if changed := len(data) - before - after; changed > removed {
			t.Fatalf("%q became %q: %d bytes changed, %d were replaced", data, out, changed, removed)
		}
	})
}

// edge reports whether a place is between two characters.
func edge(s string, at int) bool { return at == len(s) || utf8.RuneStart(s[at]) }
