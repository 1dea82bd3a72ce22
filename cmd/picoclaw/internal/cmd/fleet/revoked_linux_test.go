package fleet_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// A gateway whose identity is revoked ends, and says what to do. One that has been given another in time goes on.
func TestAGatewayOfTheHubsEndsWhenItIsRevoked(t *testing.T) {
	t.Parallel()
	center, front := clitest.NewHome(t), clitest.NewHome(t)
	at := freeAddress(t)
	hub := func() *exec.Cmd { return center.StartPicoclaw(t, "the hub serves at ", "hub", "--listen", at) }
	server := hub()
	file := func(name string) string { return filepath.Join(center.Dir, name+".fleet") }
	ran := func(args ...string) {
		t.Helper()
		if out, code := center.Run(t, args...); code != clitest.ExitOK {
			t.Fatalf("%v: %d %s", args, code, out)
		}
	}
	for _, name := range []string{"front", "next"} {
		ran("hub", "add", "gateway", name, "--out", file(name))
	}
	cmd, address := front.StartGateway(t, "--fleet", file("front"))
	said := func() string { return cmd.Stderr.(*clitest.OutputBuffer).String() }

	clitest.StopServer(t, server) // that it is away ends nothing
	hosttest.WaitUntil(t, "the hub is not reached", func() bool { status, _ := clitest.HTTPGet(t, address+"/ready"); return status == 503 })
	hub()
	hosttest.WaitUntil(t, "the hub is reached", func() bool { status, _ := clitest.HTTPGet(t, address+"/ready"); return status == 200 })

	revoked, _, err := identity.Connect(file("front"))
	if err != nil {
		t.Fatal(err)
	}
	defer revoked.Close()
	if err := os.Rename(file("next"), file("front")); err != nil {
		t.Fatal(err)
	}
	if out, code := front.Run(t, "gateway", "reload"); code != clitest.ExitOK {
		t.Fatal(out)
	}
	ran("hub", "revoke", "front")
	hosttest.WaitUntil(t, "a revoked connection is closed", func() bool { return !revoked.IsConnected() })
	if status, text := clitest.HTTPGet(t, address+"/ready"); status != 200 {
		t.Errorf("with another identity: %d %s", status, text)
	}

	ran("hub", "revoke", "next")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		code, failed := errors.AsType[*exec.ExitError](err)
		const cure = "does not let gateway next of tenant main in: nats: "
		if out := said(); !failed || code.ExitCode() != clitest.ExitStart ||
			strings.Count(out, "it was revoked, or is another hub's") != 1 ||
			!strings.Contains(out, cure) || !strings.Contains(out, "`picoclaw hub add`") {
			t.Errorf("%v %s", err, out)
		}
	case <-time.After(30 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
		t.Errorf("it goes on: %s", said())
	}
}
