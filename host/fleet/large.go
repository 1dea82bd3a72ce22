package fleet

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// The bounds of answers: a longer one than messageBytes goes through the object store, and one of more than mostLarge is
// not taken from there.
const (
	messageBytes = 1 << 20
	mostLarge    = 1 << 30
)

// largest is how long a message may be, of what NATS lets through.
func largest(conn *nats.Conn) int64 { return min(messageBytes, conn.MaxPayload()) - 4<<10 }

// keep puts an answer into the object store.
func (f *Fleet) keep(ctx context.Context, agent string, data []byte) (object, digest string, err error) {
	object = agent + "." + rand.Text()
	if _, err := f.results.PutBytes(ctx, object, data); err != nil {
		return "", "", fmt.Errorf("put it into the fleet's bucket %s: %w", subject.Results, err)
	}
	sum := sha256.Sum256(data)
	return object, hex.EncodeToString(sum[:]), nil
}

// fetch gets an answer from the object store. The digest has come from the worker itself.
func (f *Fleet) fetch(ctx context.Context, object, digest string) ([]byte, error) {
	info, err := f.results.GetInfo(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("get the answer from the fleet's bucket %s: %w", subject.Results, err)
	}
	if info.Size > mostLarge {
		return nil, fmt.Errorf("the answer is %d bytes long", info.Size)
	}
	data, err := f.results.GetBytes(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("get the answer from the fleet's bucket %s: %w", subject.Results, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
		return nil, errors.New("the answer in the object store is not the one that the worker put there")
	}
	return data, nil
}
