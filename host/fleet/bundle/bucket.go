package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"aead.dev/minisign"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// key is where the newest bundle lies, with those before it.
const key = "config"

// open opens the bucket by its name, or its stream.
func open[T any](ctx context.Context, conn *nats.Conn, name string,
	of func(jetstream.JetStream, context.Context, string) (T, error)) (opened T, err error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return opened, err
	}
	if opened, err = of(js, ctx, name); err != nil {
		err = fmt.Errorf("the fleet's configuration: the bucket %s: %w; `picoclaw hub` makes it", subject.Bundles, err)
	}
	return opened, err
}

// History returns the bundles that there are, the oldest first. What can't be read as one is left out.
func History(ctx context.Context, conn *nats.Conn) ([]*Bundle, error) {
	stream, err := open(ctx, conn, "KV_"+subject.Bundles, jetstream.JetStream.Stream)
	if err != nil {
		return nil, err
	}
	var all []*Bundle
	for next := uint64(1); ; {
		m, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject("$KV."+subject.Bundles+"."+key))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the fleet's configuration: %w", err)
		}
		b := &Bundle{}
		if json.Unmarshal(m.Data, b) == nil {
			all = append(all, b)
		}
		next = m.Sequence + 1
	}
}

// Next is the number that a new bundle has to have, or a higher one.
func Next(history []*Bundle) uint64 {
	next := uint64(1)
	for _, b := range history {
		if _, serial, err := b.Serial(); err == nil && serial >= next {
			next = serial + 1
		}
	}
	return next
}

// Find finds the bundle of a number, whoever has signed it.
func Find(history []*Bundle, serial uint64) (*Bundle, error) {
	for _, b := range slices.Backward(history) {
		if _, number, err := b.Serial(); err == nil && number == serial {
			return b, nil
		}
	}
	return nil, fmt.Errorf("there is no configuration with the number %d any more; `picoclaw fleet config show` lists them",
		serial)
}

// Before finds what a rollback goes back to: the bundle of a number or, with 0, the newest whose configuration is not
// that of the last. A bundle that the key has not signed for the tenant is passed over: any admin can put one there,
// and what is gone back to is signed again.
func Before(history []*Bundle, serial uint64, key minisign.PublicKey, tenant string) (*Bundle, uint64, error) {
	for _, b := range slices.Backward(history) {
		number, err := b.Verify([]string{key.String()}, tenant)
		if err == nil && (number == serial || serial == 0 && !bytes.Equal(b.Config, history[len(history)-1].Config)) {
			return b, number, nil
		}
	}
	if serial == 0 {
		return nil, 0, errors.New("there is no configuration before the last to go back to that this key has signed")
	}
	if _, err := Find(history, serial); err != nil {
		return nil, 0, err
	}
	return nil, 0, fmt.Errorf("this key has not signed the configuration with the number %d for tenant %s; "+
		"`picoclaw fleet config show` lists the keys that have", serial, tenant)
}

// Push gives a bundle to the fleet. What it looks at is the number alone, so that two who push at once are told:
// machines decide for themselves.
func Push(ctx context.Context, conn *nats.Conn, b *Bundle) error {
	_, serial, err := b.Serial()
	if err != nil {
		return fmt.Errorf("the configuration: %w", err)
	}
	if len(b.Config) > maxConfig {
		return fmt.Errorf("the configuration is larger than %d bytes", maxConfig)
	}
	kv, err := open(ctx, conn, subject.Bundles, jetstream.JetStream.KeyValue)
	if err != nil {
		return err
	}
	revision := uint64(0)
	if last, getErr := kv.Get(ctx, key); getErr == nil {
		revision = last.Revision()
	} else if !errors.Is(getErr, jetstream.ErrKeyNotFound) {
		return fmt.Errorf("the fleet's configuration: %w", getErr)
	}
	history, err := History(ctx, conn)
	if err != nil {
		return err
	}
	if next := Next(history); serial < next {
		return fmt.Errorf("its number is %d, and the fleet has had %d: sign it with the number %d", serial, next-1, next)
	}
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if _, err := kv.Update(ctx, key, data, revision); err != nil {
		return fmt.Errorf("the fleet's configuration: %w; somebody else has pushed one, or this identity may not (an admin's may)",
			err)
	}
	return nil
}
