package hub_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/host/fleet/hub"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// diskWriter writes to a hub whose store is on a small disk.
type diskWriter struct {
	*testing.T
	dir     string
	js      jetstream.JetStream
	written map[uint64]string // what was acknowledged, by its number in the stream
	tries   int
}

// writeUntil writes until a condition holds for the last result.
func (w *diskWriter) writeUntil(what string, holds func(error) bool) {
	w.Helper()
	hosttest.WaitUntil(w, what, func() bool {
		w.tries++
		text := fmt.Sprint("note ", w.tries)
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		ack, err := w.js.Publish(ctx, subject.WitnessOf("main", "w1"), []byte(text), jetstream.WithRetryAttempts(0))
		if err == nil {
			if earlier, is := w.written[ack.Sequence]; is {
				w.Fatalf("%q is acknowledged with the number of %q", text, earlier)
			}
			w.written[ack.Sequence] = text
		}
		return holds(err)
	})
}

// compare compares what was acknowledged with what can be read.
func (w *diskWriter) compare(js jetstream.JetStream) {
	w.Helper()
	stream, err := js.Stream(w.Context(), subject.Witness)
	if err != nil {
		w.Fatal(err)
	}
	for number, text := range w.written {
		if m, err := stream.GetMsg(w.Context(), number); err != nil || string(m.Data) != text {
			w.Errorf("%q was acknowledged and is %v %v", text, m, err)
		}
	}
}

// A hub whose disk was full takes writes again when there is room, and has all that it acknowledged.
func TestFullDiskRecovers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a disk that is small enough to fill")
	}
	for name, disk := range map[string]struct {
		fill, free func(w *diskWriter) error
	}{
		"a file fills it and is deleted": {
			func(w *diskWriter) error {
				err := os.WriteFile(filepath.Join(w.dir, "ballast"), make([]byte, 1<<30), 0o600)
				if errors.Is(err, unix.ENOSPC) {
					return nil
				}
				return fmt.Errorf("the disk is not full: %w", err)
			},
			func(w *diskWriter) error { return os.Remove(filepath.Join(w.dir, "ballast")) },
		},
		"the hub's store fills it and it grows": {
			func(w *diskWriter) error {
				for i := range 100 {
					data := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					err := storage.Put(ctx, w.js, subject.Results, "a", fmt.Sprint(i), bytes.NewReader(data))
					cancel()
					if err != nil {
						return nil
					}
				}
				return errors.New("the disk is not full")
			},
			func(w *diskWriter) error { return unix.Mount("tmpfs", w.dir, "tmpfs", unix.MS_REMOUNT, "size=64m") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &diskWriter{T: t, dir: t.TempDir(), written: map[uint64]string{}}
			if err := unix.Mount("tmpfs", w.dir, "tmpfs", 0, "size=16m"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(w.dir, unix.MNT_DETACH) })
			h, err := hub.Open(w.dir)
			if err == nil {
				err = h.Listen("127.0.0.1:0", nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			end := serve(t, h)
			w.js = newAttacker(t, add(t, h, "main", identity.Worker, "w1", "a")).js
			observer := newAttacker(t, add(t, h, "main", identity.Gateway, "g1")).js
			w.writeUntil("writes are acknowledged", func(error) bool { return len(w.written) > 20 })
			if err := disk.fill(w); err != nil {
				t.Fatal(err)
			}
			w.writeUntil("writes are refused with the reason", func(err error) bool {
				return err != nil && strings.Contains(err.Error(), "the hub's store can't be written: no space left on device")
			})
			if _, err := observer.KeyValue(t.Context(), subject.Placement); err == nil || !strings.Contains(err.Error(), "no space") {
				t.Errorf("the placements of a hub with a full disk: %v", err)
			}
			w.compare(observer)
			if err := disk.free(w); err != nil {
				t.Fatal(err)
			}
			before := len(w.written)
			w.writeUntil("writes are acknowledged again", func(error) bool { return len(w.written) > before+20 })
			w.compare(observer)
			end()
			serve(t, h)
			w.compare(newAttacker(t, add(t, h, "main", identity.Gateway, "g2")).js)
		})
	}
}
