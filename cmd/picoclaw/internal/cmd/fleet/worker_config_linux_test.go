package fleet_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aead.dev/minisign"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// Whom a worker trusts is read again at SIGHUP, as all else of its configuration.
func TestAWorkerTrustsAnotherKeyAtSIGHUP(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.StartHub(t)
	file := func(name string) string { return filepath.Join(in.Dir, name) }
	ran := func(args ...string) string {
		t.Helper()
		out, code := in.Run(t, args...)
		if code != clitest.ExitOK {
			t.Fatalf("picoclaw %v: %s", args, out)
		}
		return out
	}
	ran("hub", "add", "worker", "w1", "--agent", "main", "--out", file("w1.fleet"))
	ran("hub", "add", "admin", "ops", "--out", file("ops.fleet"))
	trust := func(key minisign.PublicKey) { in.WriteConfig(t, fmt.Sprintf(`{"fleet": {"trust": [%q]}}`, key)) }
	before, _, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"key": string(key),
		"one.json": `{"tools": {"exec": {"timeout_seconds": 7}}}`} {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust(before)
	ran("hub", "add", "worker", "w2", "--agent", "main", "--out", file("w2.fleet"))
	worker := in.StartWorker(t, file("w1.fleet"), 1)
	ran("fleet", "config", "push", file("one.json"), "--key", file("key"), "--fleet", file("ops.fleet"))
	status := func(want string) func() bool {
		return func() bool {
			out, _ := in.Run(t, "fleet", "status", "--output", "json", "--fleet", file("ops.fleet"))
			return strings.Contains(out, want)
		}
	}
	hosttest.WaitUntil(t, "what another key has signed is refused", status("none of the keys"))
	trust(public)
	if err := worker.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitUntil(t, "what the key has signed is taken", status(`"config":1`))

	// One that has to wait for its agent says so.
	clitest.NewHome(t).StartPicoclaw(t, "w2 is in the fleet, and has no agent yet", "worker", "--fleet", file("w2.fleet"))
}
