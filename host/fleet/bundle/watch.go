package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
)

// Options say who takes bundles, and which.
type Options struct {
	Tenant string
	Trust  []string           // minisign's public keys; without any, nothing is taken
	Home   string             // the instance root
	Config config.LoadOptions // how the machine's own configuration is found

	// Apply has the host read its configuration again. If it can't, what was there before is put back.
	Apply func(serial uint64) error

	// Report is told of each bundle that was taken, and of each that was not, and why.
	Report func(serial uint64, err error)
}

// lookEvery is how often it is looked whether there is another bundle.
const lookEvery = 2 * time.Second

// Watch takes what the fleet has now and whatever comes, until the context ends.
func Watch(ctx context.Context, conn *nats.Conn, o Options) error {
	if len(o.Trust) == 0 {
		return nil
	}
	kv, err := open(ctx, conn, subject.Bundles, jetstream.JetStream.KeyValue)
	if err != nil {
		return err
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for last := uint64(0); ; {
		entry, err := kv.Get(ctx, key)
		if err == nil && entry.Revision() != last { // or there is none, or NATS is away
			last = entry.Revision()
			o.read(entry.Value())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// read takes what stands in the fleet's bucket, and reports on it.
func (o Options) read(data []byte) {
	b := &Bundle{}
	if err := json.Unmarshal(data, b); err != nil {
		o.Report(0, fmt.Errorf("the fleet's configuration is no bundle: %w", err))
		return
	}
	switch serial, taken, err := o.Take(b); {
	case err != nil:
		o.Report(serial, fmt.Errorf("the fleet's configuration was not taken, and what was there before holds: %w", err))
	case taken:
		o.Report(serial, nil)
	}
}

// Take takes a bundle, unless it is the one that there is. On an error all is as it was.
func (o Options) Take(b *Bundle) (serial uint64, taken bool, err error) {
	serial, err = b.Verify(o.Trust, o.Tenant)
	if err != nil {
		_, said, _ := b.Serial() // of what is refused, too, one wants to know which it is
		return said, false, err
	}
	file := config.FleetConfigPath(o.Home)
	before, err := current(file)
	if err != nil {
		return serial, false, err
	}
	if _, had, serialErr := before.Serial(); serialErr == nil && had > serial {
		return serial, false, fmt.Errorf("its number is %d, and %d was here already: somebody shows an old one again", serial,
			had)
	} else if serialErr == nil && had == serial && bytes.Equal(before.Config, b.Config) {
		return serial, false, nil
	}
	if err = os.MkdirAll(filepath.Dir(file), 0o700); err == nil {
		err = o.check(b, serial)
	}
	if err != nil {
		return serial, false, err
	}
	if err = put(file, b); err == nil {
		err = o.Apply(serial)
	}
	if err != nil {
		return serial, false, errors.Join(err, put(file, before))
	}
	return serial, true, nil
}

// check looks at the configuration as the machine would have it, in a file that nobody reads.
func (o Options) check(b *Bundle, serial uint64) error {
	tried := filepath.Join(filepath.Dir(config.FleetConfigPath(o.Home)), fmt.Sprintf("serial-%d.json", serial))
	if err := os.WriteFile(tried, b.Config, 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(tried) }()
	options := o.Config
	options.Central = tried
	return Check(options)
}

// Check returns all errors of a configuration.
func Check(options config.LoadOptions) (err error) {
	_, faults := config.LoadWithAllErrors(options)
	for _, fault := range faults {
		err = errors.Join(err, fault)
	}
	return err
}

// signatureOf is beside the configuration, so that its number outlives a restart and minisign can look at both.
func signatureOf(file string) string { return file + ".minisig" }

// current is what was taken before; empty for nothing.
func current(file string) (*Bundle, error) {
	b := &Bundle{}
	for name, into := range map[string]*[]byte{file: &b.Config, signatureOf(file): &b.Signature} {
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		*into = data
	}
	return b, nil
}

// Current is the number of the bundle that an instance root has; zero for none.
func Current(home string) (serial uint64, err error) {
	b, err := current(config.FleetConfigPath(home))
	if err != nil || len(b.Signature) == 0 {
		return 0, err
	}
	_, serial, err = b.Serial()
	return serial, err
}

// put writes a bundle where the configuration is read, the signature first: after a power failure between the two, the
// number is known and the configuration is taken again.
func put(file string, b *Bundle) error {
	for _, part := range []struct {
		name string
		data []byte
	}{{signatureOf(file), b.Signature}, {file, b.Config}} {
		if part.data == nil {
			if err := os.Remove(part.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := atomicfile.WriteFile(part.name, part.data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
