package fleet_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// fleetOf is a fleet as a new user makes it: a hub over TLS and an admin's, a gateway's and two workers' identities.
type fleetOf struct {
	center, one, two clitest.Home
	admin, gateway   string
	identities       map[string]string
}

func newFleetOf(t *testing.T) *fleetOf {
	t.Helper()
	f := &fleetOf{center: clitest.NewHome(t), one: clitest.NewHome(t), two: clitest.NewHome(t), identities: map[string]string{}}
	f.center.StartHub(t)
	add := func(name string, args ...string) string {
		t.Helper()
		file := filepath.Join(f.center.Dir, name+".fleet")
		out, code := f.center.Run(t, append([]string{"hub", "add", "--out", file, "--tenant", "team"}, args...)...)
		if code != 0 {
			t.Fatal(out)
		}
		return file
	}
	if out, code := f.center.Run(t, "hub", "add", "tenant", "team"); code != 0 {
		t.Fatal(out)
	}
	f.admin, f.gateway = add("ops", "admin", "ops"), add("front", "gateway", "front")
	for _, name := range []string{"one", "two"} {
		f.identities[name] = add(name, "worker", name, "--agent", "main", "--agent", "site")
	}
	return f
}

// run runs a command that has to end well.
func (f *fleetOf) run(t *testing.T, i clitest.Home, args ...string) string {
	t.Helper()
	out, code := i.Run(t, args...)
	if code != 0 {
		t.Fatalf("picoclaw %s: %d %s", strings.Join(args, " "), code, out)
	}
	return out
}

// comes waits for what several programs have to do.
func comes(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// where is the worker that has the agent main.
func (f *fleetOf) where(t *testing.T) string {
	t.Helper()
	out, _ := f.center.Run(t, "fleet", "where", "main", "--fleet", f.gateway)
	return strings.TrimSpace(out)
}

func TestAFleetFromItsBeginning(t *testing.T) {
	t.Parallel()
	f := newFleetOf(t)
	if err := os.WriteFile(filepath.Join(f.one.Workspace, "a.txt"), []byte("moved\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) string {
		path := filepath.Join(f.center.Dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := file("minisign.key", string(plain))
	for _, i := range []clitest.Home{f.one, f.two} {
		i.WriteConfig(t, fmt.Sprintf(`{"fleet": {"trust": [%q]}, "audit": {"witness_records": 1}}`, public.String()))
	}
	f.one.StartWorker(t, f.identities["one"], 1)
	call := func(tool string, arguments ...string) string {
		t.Helper()
		out, _ := f.center.Run(t, append([]string{"call", "--fleet", f.gateway, "--agent", "main", tool}, arguments...)...)
		return out
	}
	if out := call("read_file", "path=a.txt"); !strings.Contains(out, "moved") {
		t.Error(out)
	}
	comes(t, "the hub has heard of the call", func() bool {
		out, _ := f.center.Run(t, "hub", "witness", "one", "--tenant", "team")
		return strings.Contains(out, `"count":1,`)
	})

	// A gateway with an identity serves MCP.
	_, address := f.center.StartGateway(t, "--fleet", f.gateway)
	token := f.center.GatewayToken(t, "main")
	session := clitest.OpenHTTPSession(t, address+"/mcp/main", token)
	read := func() string {
		return clitest.CallToolHTTP(t, address+"/mcp/main", token, "read_file", `{"path":"a.txt"}`, session)
	}
	if out := read(); !strings.Contains(out, "moved") {
		t.Error(out)
	}

	// What only an admin may.
	for _, identity := range []string{f.gateway, f.identities["two"]} {
		for _, args := range [][]string{{"fleet", "drain", "one"}, {"fleet", "move", "main", "two"}} {
			if out, code := f.center.Run(t, append(args, "--fleet", identity)...); code == 0 ||
				!strings.Contains(out, "admin") {
				t.Error(code, out)
			}
		}
	}

	// Move: to where it is expected, and the copy is gone.
	if out, code := f.center.Run(t, "fleet", "move", "main", "two", "--fleet", f.admin); code == 0 ||
		!strings.Contains(out, "no worker two") {
		t.Error(code, out)
	}
	two := standby(f.two, t, f.identities["two"])
	f.run(t, f.center, "fleet", "move", "main", "two", "--fleet", f.admin)
	if at := f.where(t); at != "two" {
		t.Error(at)
	}
	if out := call("file_stat", "path=a.txt"); !strings.Contains(out, "0o640") {
		t.Error(out)
	}
	if out := read(); !strings.Contains(out, "moved") {
		t.Errorf("by the gateway, after the move: %s", out)
	}
	comes(t, "the copy is gone", func() bool {
		_, err := os.Stat(filepath.Join(f.one.Workspace, "a.txt"))
		return os.IsNotExist(err)
	})

	// A configuration for all, one that no worker can take, and back.
	shows := func(what string) {
		t.Helper()
		comes(t, "status shows "+what, func() bool {
			out, _ := f.center.Run(t, "fleet", "status", "--fleet", f.gateway)
			return strings.Contains(out, what)
		})
	}
	config := func(verb string, args ...string) {
		t.Helper()
		f.run(t, f.center, append([]string{"fleet", "config", verb, "--key", key, "--fleet", f.admin}, args...)...)
	}
	config("push", file("first.json", `{"tools": {"disabled": ["write_file"]}}`))
	comes(t, "the configuration holds", func() bool {
		return strings.Contains(call("write_file", "path=b", "content=x"), "disabled")
	})
	config("push", file("second.json", `{"agents": {"list": [{"id": "other"}]}}`))
	shows("no agent is served")
	config("rollback")
	config("push", file("third.json", `{}`))
	comes(t, "the configuration holds", func() bool {
		return !strings.Contains(call("write_file", "path=b", "content=x"), "disabled")
	})
	var status struct {
		Workers []struct {
			Config int    `json:"config"`
			Fault  string `json:"fault"`
		} `json:"workers"`
	}
	comes(t, "all have the last one", func() bool {
		status.Workers = nil
		out, code := f.center.Run(t, "fleet", "status", "--output", "json", "--fleet", f.gateway)
		if err := json.Unmarshal([]byte(out), &status); code != 0 || err != nil || len(status.Workers) != 2 {
			return false // a worker is about to come back
		}
		one, two := status.Workers[0], status.Workers[1]
		return one.Config == 4 && one.Fault == "" && two.Config == 4 && two.Fault == ""
	})

	// Drain: the other one has it, with the workspace that it has.
	f.run(t, f.center, "fleet", "drain", "two", "--fleet", f.admin)
	comes(t, "the other worker has the agent", func() bool { return f.where(t) == "one" })
	if out := call("read_file", "path=a.txt"); !strings.Contains(out, "not") {
		t.Error(out)
	}
	shows("drained")
	if out, code := f.center.Run(t, "fleet", "move", "main", "two", "--fleet", f.admin); code == 0 ||
		!strings.Contains(out, "drained") {
		t.Error(code, out)
	}
	clitest.StopServer(t, two)
	if out := f.run(t, f.center, "hub", "witness", "one", "--tenant", "team"); out == "" {
		t.Error("the worker has told nothing of its record")
	}
}

// standby starts a worker whose agents another one has.
func standby(i clitest.Home, t *testing.T, fleet string) *exec.Cmd {
	t.Helper()
	cmd := i.Command(hosttest.ProgramPath("bin/picoclaw"), "worker", "--fleet", fleet)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			clitest.StopServer(t, cmd)
		}
	})
	name := strings.TrimSuffix(filepath.Base(fleet), ".fleet")
	comes(t, "the worker is there", func() bool {
		out, _ := i.Run(t, "fleet", "status", "--fleet", fleet)
		return strings.Contains(out, name+" ")
	})
	return cmd
}
