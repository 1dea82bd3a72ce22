package output

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What is kept is the beginning and the end, whatever the pieces are that it comes in.
func FuzzExcerpt(f *testing.F) {
	f.Add(3, 5)
	f.Add(2*ExcerptBytes, 1)
	f.Add(ExcerptBytes/3, 17)
	f.Fuzz(func(t *testing.T, size, pieces int) {
		if size < 1 || size > 3*ExcerptBytes || pieces < 1 || pieces > 20 {
			return
		}
		var e HeadTailBuffer
		var all []byte
		for n := range pieces {
			piece := bytes.Repeat([]byte{byte('a' + n)}, size)
			e.AddBytes(piece)
			all = append(all, piece...)
		}
		head, tail := all[:min(ExcerptBytes, len(all))], all[max(0, len(all)-ExcerptBytes):]
		text := e.String()
		if !strings.HasPrefix(text, string(head)) || !strings.HasSuffix(text, string(tail)) {
			t.Error("head or tail are not the output's")
		}
		if want := int64(max(0, len(all)-2*ExcerptBytes)); e.OmittedBytes() != want {
			t.Errorf("%d bytes are missing, not %d", e.OmittedBytes(), want)
		}
	})
}

// A full ring waits for its reader, and then goes on; nothing is lost.
func TestFullRingBlocksWriter(t *testing.T) {
	r, err := NewOutputRing(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	piece := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	const pieces = 3 * RingCapacity / (16 * 4096)
	added := make(chan struct{})
	go func() {
		defer close(added)
		for range pieces {
			r.AddBytes(piece)
		}
	}()
	for _, end := r.Cursors(); end < RingCapacity; _, end = r.Cursors() {
		time.Sleep(time.Millisecond)
	}
	select {
	case <-added:
		t.Fatal("more was added than there is room for")
	default:
	}
	var cursor int64
	for cursor < pieces*int64(len(piece)) {
		r.WaitForOutput(t.Context(), cursor, nil)
		got, err := r.ReadOutput(cursor, 100_000, false)
		if err != nil || got.Lost != 0 {
			t.Fatal(got.Lost, err)
		}
		for n, b := range got.Data {
			if want := piece[(cursor+int64(n))%int64(len(piece))]; b != want {
				t.Fatalf("byte %d is %q, not %q", cursor+int64(n), b, want)
			}
		}
		cursor = got.Next
	}
	<-added
	if got, err := r.ReadOutput(0, 10, false); err != nil || got.Lost != cursor-RingCapacity {
		t.Errorf("what is gone is not told: %d, %v", got.Lost, err)
	}
}

// Nobody who is slow to listen holds up who prints.
func TestLiveOutputNeverBlocks(t *testing.T) {
	hold := make(chan struct{})
	var heard bytes.Buffer
	take := func(p []byte) { <-hold; heard.Write(p) }
	l := NewLiveForwarder(take, take)
	for range 1000 {
		l.AddBytes(Stdout, make([]byte, 10_000))
	}
	close(hold)
	l.Close()
	if heard.Len() > 3*livePending || !strings.Contains(heard.String(), "bytes not shown while it runs") {
		t.Errorf("%d bytes were passed on", heard.Len())
	}
}

// Nothing that a command has put in its way leads the file out of the workspace.
func TestOutputFileStaysInWorkspace(t *testing.T) {
	for _, link := range []string{".picoclaw", ".picoclaw/output", ".picoclaw/.gitignore"} {
		dir, outside := t.TempDir(), t.TempDir()
		at := filepath.Join(dir, link)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		to := outside
		if link == ".picoclaw" { // a directory in the workspace, such as .git, is no better
			to, outside = ".", dir
		}
		if filepath.Base(link) == ".gitignore" {
			to = filepath.Join(outside, "new")
		}
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
		if f, err := NewOutputFile(dir); err == nil {
			_ = f.Close()
		}
		if entries, err := os.ReadDir(outside); err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != link }) {
			t.Errorf("%s as a link: %v %v", link, entries, err)
		}
	}
}
