package hub_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet/bundle"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/witness"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// sealedKey is a key that the password "secret" opens: to seal one takes half a minute with the race detector.
const sealedKey = `untrusted comment: minisign encrypted secret key
RWRTY0IyzyJsaNBuYg7bGsCVSHzwGrLV9paZIIvWJB23Bp8X37oAAAgAAAAAAAAAAAEAAAAAm3QaXI4LiP5sLynSBOhtLV8xOC0MUGKhhYmPtthzsLcQDnQ7` +
	`Es32i0SU2vGpx21kuLEwbDlxSgO0cjDv/HmmopyJbvY7sl8Vb64syNFtsusyVm2gcIa0hOsNFzXQj6CpOSivJuGcLi8=
`

// One command makes a hub, and another lets a machine in.
func TestHubServesWithOneCommand(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	ran := func(want int, args ...string) string {
		t.Helper()
		out, code := in.Run(t, args...)
		if code != want {
			t.Errorf("picoclaw %v: %d %s", args, code, out)
		}
		return out
	}
	file := func(name string) string { return filepath.Join(in.Dir, name) }
	ran(clitest.ExitOK, "hub", "list")
	if _, err := os.Stat(file("hub")); err == nil {
		t.Error("a list makes a hub")
	}
	early := file("early.fleet")
	if out := ran(clitest.ExitOK, "hub", "add", "gateway", "early", "--out", early); !strings.Contains(out, early) {
		t.Error(out)
	}
	server := in.StartHub(t)
	ran(clitest.ExitStart, "hub")
	worker, admin := file("w1.fleet"), file("ops.fleet")
	ran(clitest.ExitOK, "hub", "add", "worker", "w1", "--agent", "main", "--out", worker)
	ran(clitest.ExitOK, "hub", "add", "admin", "ops", "--out", admin)
	ran(clitest.ExitFailed, "hub", "add", "worker", "w1", "--agent", "main", "--out", file("again"))
	ran(clitest.ExitFailed, "hub", "add", "worker", "w2", "--agent", "main", "--out", "/dev/full") // is there
	ran(clitest.ExitFailed, "hub", "add", "worker", "w2", "--agent", "main", "--out", file("none/w2"))
	ran(clitest.ExitFailed, "hub", "add", "worker", "w2", "--agent", "*", "--out", file("w2"))
	ran(clitest.ExitFailed, "hub", "add", "worker", "w2", "--out", file("w2"))
	ran(clitest.ExitFailed, "hub", "add", "worker", "w2", "--agent", "main", "--tenant", "none", "--out", file("w2"))
	if _, err := os.Stat(file("w2")); err == nil {
		t.Error("who is not let in has a file")
	}
	ran(clitest.ExitUsage, "hub", "add", "thing", "w2")
	for _, args := range [][]string{{"worker", "hub", "--agent", "main"}, {"gateway", "hub"}, {"admin", "hub"}} {
		out := ran(clitest.ExitFailed, append([]string{"hub", "add", "--out", file("reserved")}, args...)...)
		if strings.Count(out, "\n") != 1 || !strings.Contains(out, "the name of the hub itself") {
			t.Errorf("%v: %s", args, out)
		}
	}
	ran(clitest.ExitOK, "hub", "add", "tenant", "other")
	kept, err := os.Stat(file("hub/register.json"))
	if err != nil {
		t.Fatal(err)
	}
	var register struct {
		Tenants map[string]struct{ Identities []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(ran(clitest.ExitOK, "hub", "list", "--output", "json")), &register); err != nil ||
		len(register.Tenants) != 2 || len(register.Tenants["main"].Identities) != 3 {
		t.Errorf("%+v %v", register, err)
	}
	if now, err := os.Stat(file("hub/register.json")); err != nil || !os.SameFile(now, kept) {
		t.Errorf("a list writes the register: %v", err)
	}
	if info, err := os.Stat(worker); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}

	conn, id, err := identity.Connect(worker)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	// A configuration for all workers.
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	_, stranger, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	strange, err := stranger.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"stranger.key": string(strange),
		"evil.json": `{"tools": {"exec": {"timeout_seconds": 666}}}`, "sealed.key": sealedKey, "plain.key": string(plain),
		"one.json": `{"tools": {"exec": {"timeout_seconds": 7}}}`, "two.json": `{"tools": {"exec": {"timeout_seconds": 8}}}`,
		"bad.json": `{"tools": {"exec": {"timeout": 7}}}`, "mine.json": `{"fleet": {"trust": []}}`} {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	push := func(want int, name string, more ...string) string {
		t.Helper()
		return ran(want, append([]string{"fleet", "config", "push", file(name), "--fleet", admin}, more...)...)
	}
	push(clitest.ExitFailed, "one.json") // without a signature
	push(clitest.ExitFailed, "bad.json", "--key", file("plain.key"))
	push(clitest.ExitFailed, "mine.json", "--key", file("plain.key"))
	ran(clitest.ExitFailed, "fleet", "config", "push", file("one.json"), "--key", file("plain.key"), "--fleet", worker)
	push(clitest.ExitOK, "one.json", "--key", file("plain.key"))
	cmd := in.Command(hosttest.ProgramPath("bin/picoclaw"), "fleet", "config", "push", file("two.json"), "--key",
		file("sealed.key"),
		"--fleet", admin)
	cmd.Stdin = strings.NewReader("secret\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("with a password: %v %s", err, out)
	}
	rollback := func(want int, more ...string) string {
		t.Helper()
		return ran(want, append([]string{"fleet", "config", "rollback", "--fleet", admin}, more...)...)
	}
	push(clitest.ExitOK, "evil.json", "--key", file("stranger.key")) // any admin can
	push(clitest.ExitOK, "two.json", "--key", file("plain.key"))
	if out := rollback(clitest.ExitFailed, "--to", "3", "--key", file("plain.key")); !strings.Contains(out, "number 3 ") {
		t.Errorf("back to what a stranger has signed: %s", out)
	}
	if out := rollback(clitest.ExitOK, "--key", file("plain.key")); !strings.Contains(out, "configuration 1 again") {
		t.Errorf("a rollback: %s", out)
	}
	if out := ran(clitest.ExitOK, "fleet", "config", "show", "--fleet", admin); !strings.Contains(out, "\n5 ") {
		t.Errorf("after a rollback: %s", out)
	}
	if out := ran(clitest.ExitOK, "fleet", "config", "show", "--serial", "5", "--fleet", admin); !strings.Contains(out, "7") {
		t.Errorf("the fifth: %s", out)
	}
	home := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := bundle.Watch(ctx, conn, bundle.Options{Tenant: id.Tenant, Trust: []string{public.String()}, Home: home,
		Config: config.LoadOptions{Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home}},
		Apply:  func(uint64) error { return nil },
		Report: func(serial uint64, err error) {
			if serial != 5 || err != nil {
				t.Errorf("a worker takes %d: %v", serial, err)
			}
			cancel()
		}}); err != nil {
		t.Error(err)
	}

	tell, err := witness.Teller(conn, id.Tenant, id.Name)
	if err != nil {
		t.Fatal(err)
	}
	note, err := json.Marshal(audit.WitnessNote{Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := tell(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	if out := ran(clitest.ExitOK, "hub", "witness", "w1"); out != string(note)+"\n" {
		t.Errorf("the witness: %s", out)
	}
	ran(clitest.ExitFailed, "hub", "witness", "w2")

	in.WriteConfig(t, `{"agents": {"list": [{"id": "main"}]}}`)
	served := in.StartWorker(t, worker, 1)
	ran(clitest.ExitOK, "hub", "revoke", "w1")
	impatient := time.AfterFunc(30*time.Second, func() { _ = served.Process.Kill() })
	if err := served.Wait(); err == nil || !impatient.Stop() {
		t.Errorf("a worker that was revoked ends with %v", err)
	}
	if out := served.Stderr.(*clitest.OutputBuffer).String(); strings.Count(out, "new identity") != 1 ||
		strings.Contains(out, "not in the fleet yet") {
		t.Errorf("a worker that was revoked: %s", out)
	}
	ran(clitest.ExitFailed, "hub", "revoke", "w1")
	if conn, _, err := identity.Connect(worker); err == nil {
		conn.Close()
		t.Error("who was revoked connects")
	}
	clitest.StopServer(t, server)
	ran(clitest.ExitFailed, "hub", "witness", "w1")
}
