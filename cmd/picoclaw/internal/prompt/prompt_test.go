package prompt

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"":                           nil,
		"  a  b\tc ":                 {"a", "b", "c"},
		`a 'b  c' "d \"e\" \n" f\ g`: {"a", "b  c", `d "e" \n`, "f g"},
		`x path='a b'"c"`:            {"x", "path=a bc"},
		`x '' ""`:                    {"x", "", ""},
		`x 'it'\''s'`:                {"x", "it's"},
		`read {"path": "a b"} `:      {"read", `{"path": "a b"} `},
		`{x y`:                       {"{x", "y"},
		`exec command='$HOME *'`:     {"exec", "command=$HOME *"},
	} {
		got, err := SplitLine(line)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", line, err, diff)
		}
	}
	for _, line := range []string{`'a`, `"a`, `a\`, `a "b\"`} {
		if words, err := SplitLine(line); err == nil {
			t.Errorf("%s is %q", line, words)
		}
	}
}

func TestSplitOpen(t *testing.T) {
	for line, want := range map[string]struct {
		before []string
		last   string
		ok     bool
	}{
		"":            {nil, "", true},
		"rea":         {nil, "rea", true},
		"read ":       {[]string{"read"}, "", true},
		"read pa":     {[]string{"read"}, "pa", true},
		"read 'a b' ": {[]string{"read", "a b"}, "", true},
		"read 'a b":   {[]string{"read"}, "a b", false},
	} {
		before, last, ok := SplitIncompleteLine(line)
		if diff := cmp.Diff(want.before, before); diff != "" || last != want.last || ok != want.ok {
			t.Errorf("%q: %q, %q, %t", line, before, last, ok)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(`a 'b' "c\"" \d {x`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := SplitLine(line)
		if before, _, _ := SplitIncompleteLine(line); err == nil && len(before) > len(words) {
			t.Errorf("%q: %q and %q", line, before, words)
		}
	})
}

func TestHistoryIsShortened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(path, []byte(strings.Repeat("old\n", 2*maxHistoryLines)+"new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := readAndTrimHistory(path)
	if h.Len() != maxHistoryLines || h.At(0) != "new" || h.At(1) != "old" {
		t.Errorf("%d lines, the last is %s", h.Len(), h.At(0))
	}
	for _, line := range []string{"new", " private", "password=hunter2", "", "next"} {
		h.Add(line)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != maxHistoryLines+1 || !strings.HasSuffix(string(text), "\nnew\nnext\n") {
		t.Errorf("%d lines (%v)", strings.Count(string(text), "\n"), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v (%v)", info.Mode(), err)
	}
}

func TestLinesFromPipe(t *testing.T) {
	r := NewLineReader(strings.NewReader("one\ntwo"), io.Discard, "", nil)
	for _, want := range []string{"one\n", "two"} {
		if line, err := r.ReadLine(t.Context(), "> "); line != want || err != nil {
			t.Errorf("%q, %v", line, err)
		}
	}
	if _, err := r.ReadLine(t.Context(), "> "); !errors.Is(err, io.EOF) {
		t.Errorf("the error is %v", err)
	}
}

func TestReadEndsWithContext(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewLineReader(in, io.Discard, "", nil).ReadLine(ctx, "> "); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
