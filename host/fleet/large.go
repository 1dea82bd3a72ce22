package fleet

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// The bounds of answers: a longer one than messageBytes goes through the object store, and one of more than mostLarge
// is not taken from there.
const (
	messageBytes = 1 << 20
	mostLarge    = 64 << 20
)

// largest is how long a message may be, of what NATS lets through.
func largest(conn *nats.Conn) int64 { return min(messageBytes, conn.MaxPayload()) - 4<<10 }

// keep puts an answer into the object store.
func (f *Fleet) keep(ctx context.Context, agent string, data []byte) (object, digest string, err error) {
	object = agent + "." + rand.Text()
	if err := storage.Put(ctx, f.js, subject.Results, agent, object, bytes.NewReader(data)); err != nil {
		return "", "", err
	}
	return object, fmt.Sprintf("%x", sha256.Sum256(data)), nil
}

// fetch gets an answer from the object store. The digest has come from the worker itself.
func (f *Fleet) fetch(ctx context.Context, object, digest string) ([]byte, error) {
	in, err := storage.Open(ctx, f.js, subject.Results, object)
	if err != nil {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(in, mostLarge+1))
	if err != nil {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	if len(data) > mostLarge {
		return nil, fmt.Errorf("the answer is longer than %d bytes", mostLarge)
	}
	if fmt.Sprintf("%x", sha256.Sum256(data)) != digest {
		return nil, errors.New("the answer in the object store is not the one that the worker put there")
	}
	return data, nil
}
