package fleet_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// addIdentity has a hub enroll a machine, and returns the identity file.
func addIdentity(t *testing.T, home clitest.Home, role, name string, flags ...string) string {
	t.Helper()
	file := filepath.Join(home.Dir, name+".fleet")
	out, code := home.Run(t, append([]string{"hub", "add", role, name, "--out", file}, flags...)...)
	if code != clitest.ExitOK {
		t.Fatal(out)
	}
	return file
}

func TestFleetVerbsExplainFaults(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	at := freeAddress(t)
	server := home.StartPicoclaw(t, "the hub serves at ", "hub", "--listen", at)
	admin, worker := addIdentity(t, home, "admin", "ops"), addIdentity(t, home, "worker", "w1", "--agent", "main")
	revokedAdmin, revokedWorker := addIdentity(t, home, "admin", "old"), addIdentity(t, home, "worker", "w0", "--agent", "main")
	for _, name := range []string{"old", "w0"} {
		if out, code := home.Run(t, "hub", "revoke", name); code != clitest.ExitOK {
			t.Fatal(out)
		}
	}
	text, err := os.ReadFile(admin)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, text []byte, mode os.FileMode) string {
		path := filepath.Join(home.Dir, name)
		if err := os.WriteFile(path, text, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	verbs := map[string][]string{"worker": {"worker"}, "gateway": {"gateway", "--port", "0"}, "call": {"call", "list_dir", "path=."},
		"status": {"fleet", "status"}, "where": {"fleet", "where", "main"}, "drain": {"fleet", "drain", "w1"},
		"move": {"fleet", "move", "main", "w1"}, "show": {"fleet", "config", "show"}}
	check := func(fault, want string, identity func(verb string) string) {
		for verb, args := range verbs {
			cmd := home.Command("timeout", append(append([]string{"20", home.Program}, args...), "--fleet", identity(verb))...)
			out, _ := cmd.CombinedOutput() // the exit code says it
			code := cmd.ProcessState.ExitCode()
			if code != clitest.ExitStart && code != clitest.ExitFailed || !strings.Contains(string(out), want) ||
				strings.Contains(string(out), "goroutine") {
				t.Errorf("%s with %s: %d %s; want %q", verb, fault, code, out, want)
			}
		}
	}
	for fault, c := range map[string]struct{ path, want string }{
		"no file":      {filepath.Join(home.Dir, "none.fleet"), "`picoclaw hub add`"},
		"a directory":  {home.Dir, "it is not a regular file"},
		"mode 0644":    {file("open.fleet", text, 0o644), "chmod 600"},
		"an empty one": {file("empty.fleet", nil, 0o600), "not what `picoclaw hub add` has written"},
		"a cut one":    {file("cut.fleet", text[:len(text)/2], 0o600), "not what `picoclaw hub add` has written"},
		"a zeroed one": {file("zero.fleet", make([]byte, len(text)), 0o600), "not what `picoclaw hub add` has written"},
		"no name":      {file("object.fleet", []byte("{}"), 0o600), "it has no name, tenant or urls"},
		"another's key": {file("key.fleet", []byte(strings.Replace(string(text), `"seed": "SU`, `"seed": "SX`, 1)), 0o600),
			"its seed is no key"},
	} {
		check(fault, c.want, func(string) string { return c.path })
	}
	check("a revoked one", "it was revoked, or is another hub's", func(verb string) string {
		if verb == "worker" {
			return revokedWorker
		}
		return revokedAdmin
	})
	clitest.StopServer(t, server)
	delete(verbs, "worker") // it waits
	check("a hub that is away", "is `picoclaw hub` running there", func(string) string { return admin })

	cmd := home.StartPicoclaw(t, "the worker waits until it reaches its fleet: ", "worker", "--fleet", worker)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("a worker that waits ends with %v", err)
	}
	cmd = home.StartPicoclaw(t, "the worker waits until it reaches its fleet: ", "worker", "--fleet", worker)
	home.StartPicoclaw(t, "the hub serves at ", "hub", "--listen", at)
	hosttest.WaitUntil(t, "the worker serves", func() bool {
		return strings.Contains(cmd.Stderr.(*clitest.OutputBuffer).String(), "the worker w1 serves agent main")
	})
	clitest.StopServer(t, cmd)
}
