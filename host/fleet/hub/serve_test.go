package hub_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/fleet/hub"
)

func TestWhereAHubCantListenIsSaidAtOnceAndNotKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hub")
	h, err := hub.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	at := taken.Addr().String()
	for address, want := range map[string]string{at: "is another server there?", "127.0.0.1:99999": "0 to 65535",
		"127.0.0.1:-1": "0 to 65535", "127.0.0.1:nats": "0 to 65535", "127.0.0.1": "such as", "bad/name:4222": "no host",
		"1.2.3.400:4222": "no host", "192.0.2.1:0": "can't serve at"} {
		if err := h.Listen(address, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q in it", address, err, want)
		}
	}
	for _, name := range []string{"", "bad/name", "a b", "*", "hub.example.com:4222", "tls://hub", "1.2.3.400", "0.0.0.0",
		"[::1]", "-x", "a..b", strings.Repeat("a", 64)} {
		if err := h.Listen("", []string{"hub.example.com", name}); err == nil || !strings.Contains(err.Error(), "host name") {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	if r, err := h.Register(); err != nil || r.Listen != hub.DefaultListen || len(r.Names) > 0 {
		t.Errorf("what is kept: %+v %v", r, err)
	}
	if err := h.Listen("127.0.0.1:0", []string{"hub.example.com", "build1", "my_hub", "192.0.2.1", "2001:db8::1"}); err != nil {
		t.Error(err)
	}

	// Somebody else may have the port later.
	register := filepath.Join(dir, "register.json")
	text, err := os.ReadFile(register)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(register, []byte(strings.ReplaceAll(string(text), "127.0.0.1:0", at)), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = h.Serve(t.Context(), hclog.NewNullLogger(), func(string) { t.Error("it serves") })
	if err == nil || !strings.Contains(err.Error(), "is another server there?") || time.Since(began) > 10*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}
