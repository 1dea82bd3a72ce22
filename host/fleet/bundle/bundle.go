// Package bundle has a fleet's machines take one configuration, which somebody has signed.
//
// A bundle is a configuration and its minisign signature, as plugins have them; the signature's trusted comment says
// for which tenant it is and which number it has. It lies in a bucket of NATS, and nobody on the way can change it: a
// machine takes what one of the keys has signed that its own configuration trusts, whose number is not below the one
// that it had, and which is no fault together with that configuration. A rollback is an earlier configuration signed
// anew under a higher number, so that numbers never go back.
//
// The package must not know what a configuration means, nor how a host takes it: it puts it where host/config reads
// it, and tells its caller.
package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"aead.dev/minisign"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// Bundle is a configuration with its signature.
type Bundle struct {
	Config    []byte `json:"config"`
	Signature []byte `json:"signature"`
}

// maxConfig is as much as a message of NATS takes, with its signature and as JSON.
const maxConfig = 512 << 10

// Comment is the trusted comment with which a configuration has to be signed for a tenant.
func Comment(tenant string, serial uint64) string {
	return fmt.Sprintf("picoclaw tenant:%s serial:%d", tenant, serial)
}

// Sign signs a configuration for a tenant.
func Sign(key minisign.PrivateKey, config []byte, tenant string, serial uint64) *Bundle {
	// It is hashed first, as minisign has it unless it is told otherwise.
	r := minisign.NewReader(bytes.NewReader(config))
	_, _ = io.Copy(io.Discard, r) // from memory
	comment := Comment(tenant, serial)
	return &Bundle{Config: config, Signature: r.SignWithComments(key, comment, comment)}
}

// Serial is the number that the signature says, whoever has made it, and the tenant that it is for.
func (b *Bundle) Serial() (tenant string, serial uint64, err error) {
	var s minisign.Signature
	if err := s.UnmarshalText(b.Signature); err != nil {
		return "", 0, errors.New("it has no signature of minisign's")
	}
	fields := strings.Fields(s.TrustedComment)
	if len(fields) == 3 && fields[0] == "picoclaw" {
		of, named := strings.CutPrefix(fields[1], "tenant:")
		text, numbered := strings.CutPrefix(fields[2], "serial:")
		if number, err := strconv.ParseUint(text, 10, 63); named && numbered && of != "" && err == nil && number > 0 {
			return of, number, nil
		}
	}
	return "", 0, fmt.Errorf("its signature says %q, and not for whom it is and which number it has, as in %q",
		s.TrustedComment, Comment("main", 1))
}

// Verify reports the number of a bundle that one of the keys has signed for a tenant. Keys are the second lines of
// minisign's .pub files.
func (b *Bundle) Verify(trust []string, tenant string) (serial uint64, err error) {
	of, serial, err := b.Serial()
	if err != nil {
		return 0, err
	}
	if len(b.Config) > maxConfig {
		return 0, fmt.Errorf("it is larger than %d bytes", maxConfig)
	}
	for _, text := range trust {
		var key minisign.PublicKey
		if err := key.UnmarshalText([]byte(text)); err != nil {
			return 0, fmt.Errorf("fleet.trust: %q is not a minisign public key", text)
		}
		if !minisign.Verify(key, b.Config, b.Signature) {
			continue
		}
		if of != tenant {
			return 0, fmt.Errorf("it was signed for tenant %s, and this is one of tenant %s", of, tenant)
		}
		return serial, nil
	}
	return 0, errors.New("none of the keys in fleet.trust has signed it")
}

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
