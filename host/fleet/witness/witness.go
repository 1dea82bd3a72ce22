// Package witness has a fleet's hub know how far the audit logs of its workers have come, so that a log that was cut
// or written anew on its own machine is found out.
//
// A worker may add to its own notes and to no others', nor take any back; gateways and admins read them. What a note
// is, and what it says of a log, is for host/audit to know: they are lines here.
package witness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// Teller tells the hub of a worker's log: it is host.Options.Witness. It returns when the note is on the hub's disk.
func Teller(conn *nats.Conn, tenant, worker string) (func(ctx context.Context, note []byte) error, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	to := subject.WitnessOf(tenant, worker)
	return func(ctx context.Context, note []byte) error {
		if _, err := js.Publish(ctx, to, note); err != nil {
			return fmt.Errorf("tell the fleet's hub: %w", err)
		}
		return nil
	}, nil
}

// Dump writes what a worker has told, one note a line, as `picoclaw audit verify --witness` reads it.
func Dump(ctx context.Context, conn *nats.Conn, tenant, worker string, w io.Writer) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	of := subject.WitnessOf(tenant, worker)
	stream, err := js.Stream(ctx, subject.Witness)
	if err != nil {
		return fmt.Errorf("the fleet's witness: %w", err)
	}
	told := false
	for next := uint64(1); ; {
		note, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(of))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound) && told:
			return nil
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return fmt.Errorf("worker %s of tenant %s has told nothing", worker, tenant)
		case err != nil:
			return fmt.Errorf("the fleet's witness: %w", err)
		}
		told, next = true, note.Sequence+1
		if _, err := w.Write(append(bytes.ReplaceAll(note.Data, []byte("\n"), nil), '\n')); err != nil {
			return err
		}
	}
}
