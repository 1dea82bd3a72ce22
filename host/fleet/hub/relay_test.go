package hub_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/fleet/hub"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// A command writes a new tenant into the register before it writes the tenant's accounts. The hub looks between the two.
func TestTenantIsServedOnceItsAccountsAreWritten(t *testing.T) {
	t.Parallel()
	dir, other := filepath.Join(t.TempDir(), "hub"), filepath.Join(t.TempDir(), "hub")
	h, err := hub.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Listen("127.0.0.1:0", nil); err != nil {
		t.Fatal(err)
	}
	waits, ready := make(chan struct{}, 100), make(chan struct{})
	log := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: t.Output(), Level: hclog.Warn})
	log.RegisterSink(hclog.NewSinkAdapter(&hclog.LoggerOptions{Level: hclog.Warn, Output: writerFunc(func(line string) {
		if strings.Contains(line, "a tenant is not served yet") {
			waits <- struct{}{}
		}
	})}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Serve(ctx, log, func(string) { close(ready) }) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	<-ready

	// The first half of `hub add tenant late`.
	second, err := hub.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.AddTenant(t.Context(), "late"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"keys/tenant-late", "keys/store-late"} {
		if err := os.Rename(filepath.Join(other, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	register, err := h.Register()
	if err != nil {
		t.Fatal(err)
	}
	register.Tenants["late"] = &hub.Tenant{}
	data, err := json.Marshal(register)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "register.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case <-waits:
	case <-time.After(patience):
		t.Fatal("the hub did not say that it waits for the tenant's accounts")
	}

	// The second half.
	if _, err := h.Add(t.Context(), "late", hub.Identity{Name: "ops", Role: identity.Admin}); err != nil {
		t.Fatal(err)
	}
	admin, err := h.Admin("late")
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	for end := time.Now().Add(patience); ; {
		_, err := admin.Request("pc.js.STREAM.INFO.KV_"+subject.Placement, nil, time.Second)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the tenant's requests are not answered: ", err)
		}
	}
}

type writerFunc func(line string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}
