package bundle_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet/bundle"
	"github.com/picoclaw/picoclaw/host/fleet/hub"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
)

func newKey(t *testing.T) (minisign.PrivateKey, string) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return private, public.String()
}

// machine is one that takes bundles.
type machine struct {
	bundle.Options
	applied []uint64
	refuse  error // of the host
}

func newMachine(t *testing.T, trust string) *machine {
	home := t.TempDir()
	m := &machine{}
	m.Options = bundle.Options{Tenant: "main", Trust: []string{trust}, Home: home,
		Config: config.LoadOptions{Environ: []string{"HOME=/home/user", "PICOCLAW_HOME=" + home}},
		Apply: func(serial uint64) error {
			m.applied = append(m.applied, serial)
			return m.refuse
		}}
	return m
}

// timeout is tools.exec.timeout_seconds as the machine has it.
func (m *machine) timeout(t *testing.T) int64 {
	t.Helper()
	cfg, err := config.Load(m.Config)
	if err != nil {
		t.Fatal(err)
	}
	a, err := cfg.ResolveAgent("")
	if err != nil {
		t.Fatal(err)
	}
	return a.Tools.Exec.TimeoutSeconds
}

func seconds(n int) []byte {
	return fmt.Appendf(nil, `{"tools": {"exec": {"timeout_seconds": %d}}}`, n)
}

func TestAMachineTakesWhatIsSignedAndSoundAndNew(t *testing.T) {
	key, public := newKey(t)
	stranger, _ := newKey(t)
	m := newMachine(t, public)
	take := func(b *bundle.Bundle, want string) {
		t.Helper()
		before, applied := m.timeout(t), len(m.applied)
		_, taken, err := m.Take(b)
		switch {
		case want == "" && (err != nil || !taken):
			t.Errorf("not taken: %v", err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v; want %q in it", err, want)
		case want != "" && m.timeout(t) != before:
			t.Errorf("what is refused for %q has changed something", want)
		case want != "" && m.refuse == nil && len(m.applied) != applied:
			t.Errorf("what is refused for %q was applied", want)
		}
	}
	first := bundle.Sign(key, seconds(11), "main", 1)
	take(first, "")
	take(bundle.Sign(key, seconds(12), "main", 2), "")
	if got := m.timeout(t); got != 12 {
		t.Errorf("the timeout is %d", got)
	}
	take(first, "somebody shows an old one again")
	take(bundle.Sign(stranger, seconds(13), "main", 3), "none of the keys")
	if serial, _, err := m.Take(bundle.Sign(stranger, seconds(13), "main", 3)); serial != 3 {
		t.Errorf("what is refused has the number %d: %v", serial, err)
	}
	take(bundle.Sign(key, seconds(13), "other", 3), "tenant other")
	changed := bundle.Sign(key, seconds(13), "main", 3)
	changed.Config = seconds(14)
	take(changed, "none of the keys")
	changed = bundle.Sign(key, seconds(13), "main", 3)
	changed.Signature = []byte(strings.ReplaceAll(string(changed.Signature), "serial:3", "serial:4"))
	take(changed, "none of the keys")
	take(&bundle.Bundle{Config: seconds(13), Signature: minisign.Sign(key, seconds(13))}, "for whom it is")
	take(&bundle.Bundle{Config: seconds(13)}, "no signature")
	take(bundle.Sign(key, []byte(`{"tools": {"exec": {"timeout": 1}}}`), "main", 3), "unknown key")
	take(bundle.Sign(key, []byte(`{"fleet": {"trust": []}}`), "main", 3), "can't be set by a fleet")
	take(bundle.Sign(key, []byte(`{`), "main", 3), "serial-3.json:1")
	m.refuse = errors.New("the host has no room")
	take(bundle.Sign(key, seconds(13), "main", 3), "no room")
	m.refuse = nil
	take(bundle.Sign(key, seconds(13), "main", 3), "") // it was not its fault

	if _, taken, err := m.Take(bundle.Sign(key, seconds(13), "main", 3)); taken || err != nil {
		t.Errorf("the same once more: %v %v", taken, err)
	}
	again := newMachine(t, public)
	again.Home, again.Config = m.Home, m.Config // as after a restart
	if _, _, err := again.Take(bundle.Sign(key, seconds(12), "main", 2)); err == nil {
		t.Error("after a restart, an old one is taken")
	}
	names, err := os.ReadDir(filepath.Join(m.Home, "fleet"))
	if err != nil || len(names) != 2 {
		t.Errorf("what is left: %v %v", names, err)
	}
}

// connect serves a hub and connects as an admin and as a worker.
func connect(t *testing.T) (admin, worker *nats.Conn) {
	t.Helper()
	h, err := hub.Open(filepath.Join(t.TempDir(), "hub"))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Listen("127.0.0.1:0", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- h.Serve(ctx, hclog.New(&hclog.LoggerOptions{Output: t.Output(), Level: hclog.Warn}),
			func(string) { close(ready) })
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	dial := func(as hub.Identity) *nats.Conn {
		id, err := h.Add(t.Context(), "main", as)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := id.Connect()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return conn
	}
	return dial(hub.Identity{Name: "root", Role: identity.Admin}),
		dial(hub.Identity{Name: "w1", Role: identity.Worker, Agents: []string{"a"}})
}

type report struct {
	serial uint64
	err    error
}

func TestAFleetTakesConfigurationsAndGoesBack(t *testing.T) {
	admin, worker := connect(t)
	key, public := newKey(t)
	m := newMachine(t, public)
	reports := make(chan report, 8)
	m.Report = func(serial uint64, err error) { reports <- report{serial, err} }
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	push := func(b *bundle.Bundle) {
		t.Helper()
		if err := bundle.Push(ctx, admin, b); err != nil {
			t.Fatal(err)
		}
	}
	next := func() report {
		t.Helper()
		select {
		case r := <-reports:
			return r
		case <-ctx.Done():
			t.Fatal("nothing is reported")
			return report{}
		}
	}
	push(bundle.Sign(key, seconds(11), "main", 1)) // before the worker comes
	watching, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- bundle.Watch(watching, worker, m.Options) }()
	if r := next(); r.serial != 1 || r.err != nil {
		t.Errorf("what was there: %+v", r)
	}
	push(bundle.Sign(key, seconds(12), "main", 2))
	if r := next(); r.serial != 2 || r.err != nil || m.timeout(t) != 12 {
		t.Errorf("what came: %+v", r)
	}
	push(bundle.Sign(key, []byte(`{"tols": 1}`), "main", 3))
	if r := next(); r.err == nil || m.timeout(t) != 12 {
		t.Errorf("a broken one: %+v", r)
	}
	if err := bundle.Push(ctx, admin, bundle.Sign(key, seconds(11), "main", 3)); err == nil ||
		!strings.Contains(err.Error(), "the number 4") {
		t.Errorf("a number that was there: %v", err)
	}
	short, done := context.WithTimeout(ctx, time.Second) // NATS does not answer what it refuses
	if err := bundle.Push(short, worker, bundle.Sign(key, seconds(9), "main", 9)); err == nil {
		t.Error("a worker pushes a configuration")
	}
	done()
	history, err := bundle.History(ctx, admin)
	if err != nil {
		t.Fatal(err)
	}
	own, ok := key.Public().(minisign.PublicKey)
	if !ok {
		t.Fatal("no public key")
	}
	back, _, err := bundle.Before(history, 1, own, "main")
	if err != nil {
		t.Fatal(err)
	}
	push(bundle.Sign(key, back.Config, "main", bundle.Next(history)))
	if r := next(); r.serial != 4 || r.err != nil || m.timeout(t) != 11 {
		t.Errorf("a rollback: %+v", r)
	}
	if history, err = bundle.History(ctx, admin); err != nil {
		t.Fatal(err)
	}
	if before, number, err := bundle.Before(history, 0, own, "main"); err != nil || number != 3 ||
		string(before.Config) != `{"tols": 1}` {
		t.Errorf("the one before the last: %v %d %v", before, number, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What a rollback finds gets a signature that machines trust.
func TestARollbackFindsOnlyWhatItsKeyHasSigned(t *testing.T) {
	key, text := newKey(t)
	stranger, _ := newKey(t)
	var public minisign.PublicKey
	if err := public.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	changed := bundle.Sign(key, seconds(14), "main", 4)
	changed.Config = seconds(66)
	history := []*bundle.Bundle{bundle.Sign(key, seconds(11), "main", 1), bundle.Sign(stranger, seconds(66), "main", 2),
		bundle.Sign(key, seconds(66), "other", 3), changed, bundle.Sign(key, seconds(15), "main", 5)}
	for serial, want := range map[uint64]string{0: "", 1: "", 2: "not signed", 3: "not signed", 4: "not signed", 5: "",
		6: "no configuration"} {
		b, number, err := bundle.Before(history, serial, public, "main")
		if want == "" && (err != nil || number != max(serial, 1) || bytes.Equal(b.Config, seconds(66))) {
			t.Errorf("to %d: %v %d %v", serial, b, number, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("to %d: %v", serial, err)
		}
	}
	if _, _, err := bundle.Before(history[1:], 0, public, "main"); err == nil {
		t.Error("there is nothing to go back to")
	}
}

func FuzzNoBundleIsTakenThatIsNotSigned(f *testing.F) {
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	b := bundle.Sign(private, []byte("{}"), "main", 1)
	f.Add(b.Config, b.Signature)
	f.Fuzz(func(t *testing.T, text, signature []byte) {
		got := &bundle.Bundle{Config: text, Signature: signature}
		serial, err := got.Verify([]string{public.String()}, "main")
		if err == nil && (string(text) != "{}" || serial != 1) {
			t.Errorf("taken as %d: %q %q", serial, text, signature)
		}
	})
}
