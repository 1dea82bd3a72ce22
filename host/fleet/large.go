package fleet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// The bounds of answers: a longer one than messageBytes goes through the object store, and one of more than mostLarge
// is not taken from there.
const (
	messageBytes = 1 << 20
	mostLarge    = 64 << 20
)

// fetch gets an answer from the object store. The digest has come from the worker itself.
func (f *Fleet) fetch(ctx context.Context, object, digest string) ([]byte, error) {
	var data []byte
	in, err := storage.Open(ctx, f.js, subject.Results, object)
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(in, mostLarge+1))
	}
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
