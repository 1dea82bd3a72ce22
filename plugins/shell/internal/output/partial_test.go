package output

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const characters = "aé€😀"

// A character that comes byte by byte is read when it is whole; what never becomes one is read in the end.
func TestPollsKeepCharactersWhole(t *testing.T) {
	r, err := NewOutputRing(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var got strings.Builder
	var cursor int64
	for _, b := range []byte(characters) {
		r.AddBytes([]byte{b})
		piece, err := r.ReadOutput(cursor, 100, false)
		if err != nil || !utf8.Valid(piece.Data) || piece.More || piece.Next != cursor+int64(len(piece.Data)) {
			t.Fatalf("behind %q: %+v, %v", got.String(), piece, err)
		}
		got.Write(piece.Data)
		cursor = piece.Next
	}
	if got.String() != characters {
		t.Errorf("all that is read is %q", got.String())
	}

	r.AddBytes([]byte("\xe2\x82"))
	done := make(chan struct{})
	waiting, cancel := context.WithCancel(t.Context())
	go func() { r.WaitForOutput(waiting, cursor, nil); close(done) }()
	select {
	case <-done:
		t.Error("half a character is taken for something to read")
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	<-done
	if piece, err := r.ReadOutput(cursor, 100, true); err != nil || string(piece.Data) != "\xe2\x82" {
		t.Errorf("what is left in the end is %q, %v", piece.Data, err)
	}
	if piece, err := r.ReadOutput(1, 1, false); err != nil || len(piece.Data) != 1 || !piece.More {
		t.Errorf("a limit that is less than a character reads %+v, %v", piece, err)
	}
	if piece, err := r.ReadOutput(0, 2, false); err != nil || string(piece.Data) != "a" || !piece.More {
		t.Errorf("a limit within a character reads %+v, %v", piece, err)
	}
}

// So it is with what is passed on while it comes, on each stream for itself.
func TestLiveOutputKeepsCharactersWhole(t *testing.T) {
	pieces := make(chan string)
	streams := [2]strings.Builder{}
	take := func(stream int) func([]byte) {
		return func(p []byte) { streams[stream].Write(p); pieces <- string(p) }
	}
	l := NewLiveForwarder(take(Stdout), take(Stderr))
	add := func(stream int, data, want string) {
		t.Helper()
		l.AddBytes(stream, []byte(data))
		if got := <-pieces; got != want {
			t.Errorf("behind %q %q is passed on, not %q", data, got, want)
		}
	}
	add(Stdout, "a\xe2\x82", "a")
	add(Stderr, "b\xf0\x9f", "b")
	add(Stdout, "\xac", "€")
	add(Stderr, "\x98\x80c\xc3", "😀c")
	closed := make(chan struct{})
	go func() { l.Close(); close(closed) }()
	if got := <-pieces; got != "\xc3" {
		t.Errorf("in the end %q is passed on", got)
	}
	<-closed
	if streams[Stdout].String() != "a€" || streams[Stderr].String() != "b😀c\xc3" {
		t.Errorf("the streams are %q and %q", streams[Stdout].String(), streams[Stderr].String())
	}
}
