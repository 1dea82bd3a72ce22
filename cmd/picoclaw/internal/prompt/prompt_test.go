package prompt

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
	r := NewLineReader(strings.NewReader("one\ntwo"), io.Discard, "")
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
	if _, err := NewLineReader(in, io.Discard, "").ReadLine(ctx, "> "); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
