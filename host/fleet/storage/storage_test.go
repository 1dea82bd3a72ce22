package storage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

func startJetStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server does not come up")
	}
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if err := Make(t.Context(), conn, "main", []string{"w"}); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func read(ctx context.Context, js jetstream.JetStream, bucket, name string) ([]byte, error) {
	o, err := Open(ctx, js, bucket, name)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(o)
}

// What is put is what is read, and NATS's own clients read it too.
func TestObjectsComeBackAsTheyWere(t *testing.T) {
	js, ctx := startJetStream(t), t.Context()
	for name, size := range map[string]int{"empty": 0, "one": 1, "a piece": piece, "a piece and one": piece + 1,
		"three": 3 * piece} {
		data := bytes.Repeat([]byte{'0', 0, 255, '\n', 'x', '5', '6'}, size/7+1)[:size]
		if err := Put(ctx, js, subject.Results, "a", name, iotest.HalfReader(bytes.NewReader(data))); err != nil {
			t.Fatal(err)
		}
		got, err := read(ctx, js, subject.Results, name)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		theirs, err := js.ObjectStore(ctx, subject.Results)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := theirs.GetBytes(ctx, name); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s, as NATS's client reads it: %d bytes, %v", name, len(got), err)
		}
	}
	if _, err := read(ctx, js, subject.Results, "none"); !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Errorf("what there is not: %v", err)
	}
}

// A source that fails leaves no object, and what is cleaned is one agent's.
func TestWhatIsNotAllThereIsNoObject(t *testing.T) {
	js, ctx, in := startJetStream(t), t.Context(), subject.In("w")
	broken := errors.New("broken")
	half := io.MultiReader(strings.NewReader(strings.Repeat("x", piece)), iotest.ErrReader(broken))
	if err := Put(ctx, js, in, "a", "half", half); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := Open(ctx, js, in, "half"); !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Errorf("%v", err)
	}
	for _, agent := range []string{"a", "aa"} {
		if err := Put(ctx, js, in, agent, "of "+agent, strings.NewReader("text")); err != nil {
			t.Fatal(err)
		}
	}
	if err := Clean(ctx, js, in, "a"); err != nil {
		t.Fatal(err)
	}
	if got, err := read(ctx, js, in, "of a"); !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Errorf("%q %v", got, err)
	}
	if got, err := read(ctx, js, in, "of aa"); err != nil || string(got) != "text" {
		t.Errorf("%q %v", got, err)
	}
}
