package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// fleetOf is a fleet as a new user makes it: a hub over TLS and an admin's, a gateway's and two workers' identities.
type fleetOf struct {
	center, one, two instance
	admin, gateway   string
	identities       map[string]string
}

func newFleetOf(t *testing.T) *fleetOf {
	t.Helper()
	f := &fleetOf{center: newInstance(t), one: newInstance(t), two: newInstance(t), identities: map[string]string{}}
	f.center.hub(t)
	add := func(name string, args ...string) string {
		t.Helper()
		file := filepath.Join(f.center.home, name+".fleet")
		out, code := f.center.picoclaw(t, append([]string{"hub", "add", "--out", file, "--tenant", "team"}, args...)...)
		if code != 0 {
			t.Fatal(out)
		}
		return file
	}
	if out, code := f.center.picoclaw(t, "hub", "add", "tenant", "team"); code != 0 {
		t.Fatal(out)
	}
	f.admin, f.gateway = add("ops", "admin", "ops"), add("front", "gateway", "front")
	for _, name := range []string{"one", "two"} {
		f.identities[name] = add(name, "worker", name, "--agent", "main", "--agent", "site")
	}
	return f
}

// run runs a command that has to end well.
func (f *fleetOf) run(t *testing.T, i instance, args ...string) string {
	t.Helper()
	out, code := i.picoclaw(t, args...)
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
	out, _ := f.center.picoclaw(t, "fleet", "where", "main", "--fleet", f.gateway)
	return strings.TrimSpace(out)
}

func TestAFleetFromItsBeginning(t *testing.T) {
	f := newFleetOf(t)
	if err := os.WriteFile(filepath.Join(f.one.workspace, "a.txt"), []byte("moved\n"), 0o640); err != nil {
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
		path := filepath.Join(f.center.home, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := file("minisign.key", string(plain))
	for _, i := range []instance{f.one, f.two} {
		i.configure(t, fmt.Sprintf(`{"fleet": {"trust": [%q]}, "audit": {"witness_records": 1}}`, public.String()))
	}
	f.one.worker(t, f.identities["one"], 1)
	call := func(tool string, arguments ...string) string {
		t.Helper()
		out, _ := f.center.picoclaw(t, append([]string{"call", "--fleet", f.gateway, "--agent", "main", tool}, arguments...)...)
		return out
	}
	if out := call("read_file", "path=a.txt"); !strings.Contains(out, "moved") {
		t.Error(out)
	}
	comes(t, "the hub has heard of the call", func() bool {
		out, _ := f.center.picoclaw(t, "hub", "witness", "one", "--tenant", "team")
		return strings.Contains(out, `"count":1,`)
	})

	// A gateway with an identity serves MCP.
	_, address := f.center.gateway(t, "--fleet", f.gateway)
	token := f.center.token(t, "main")
	session := openSession(t, address+"/mcp/main", token)
	read := func() string { return callIn(t, address+"/mcp/main", token, "read_file", `{"path":"a.txt"}`, session) }
	if out := read(); !strings.Contains(out, "moved") {
		t.Error(out)
	}

	// What only an admin may.
	for _, identity := range []string{f.gateway, f.identities["two"]} {
		for _, args := range [][]string{{"fleet", "drain", "one"}, {"fleet", "move", "main", "two"}} {
			if out, code := f.center.picoclaw(t, append(args, "--fleet", identity)...); code == 0 ||
				!strings.Contains(out, "admin") {
				t.Error(code, out)
			}
		}
	}

	// Move: to where it is expected, and the copy is gone.
	if out, code := f.center.picoclaw(t, "fleet", "move", "main", "two", "--fleet", f.admin); code == 0 ||
		!strings.Contains(out, "no worker two") {
		t.Error(code, out)
	}
	two := f.two.standby(t, f.identities["two"])
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
		_, err := os.Stat(filepath.Join(f.one.workspace, "a.txt"))
		return os.IsNotExist(err)
	})

	// A configuration for all, one that no worker can take, and back.
	shows := func(what string) {
		t.Helper()
		comes(t, "status shows "+what, func() bool {
			out, _ := f.center.picoclaw(t, "fleet", "status", "--fleet", f.gateway)
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
		out, code := f.center.picoclaw(t, "fleet", "status", "--output", "json", "--fleet", f.gateway)
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
	if out, code := f.center.picoclaw(t, "fleet", "move", "main", "two", "--fleet", f.admin); code == 0 ||
		!strings.Contains(out, "drained") {
		t.Error(code, out)
	}
	stop(t, two)
	if out := f.run(t, f.center, "hub", "witness", "one", "--tenant", "team"); out == "" {
		t.Error("the worker has told nothing of its record")
	}
}

// standby starts a worker whose agents another one has.
func (i instance) standby(t *testing.T, fleet string) *exec.Cmd {
	t.Helper()
	cmd := i.command(hosttest.Program("bin/picoclaw"), "worker", "--fleet", fleet)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			stop(t, cmd)
		}
	})
	name := strings.TrimSuffix(filepath.Base(fleet), ".fleet")
	comes(t, "the worker is there", func() bool {
		out, _ := i.picoclaw(t, "fleet", "status", "--fleet", fleet)
		return strings.Contains(out, name+" ")
	})
	return cmd
}

// Whoever is killed during a move, and whenever, one worker has the agent then, with all that it had.
func TestAMoveSurvivesItsWorkers(t *testing.T) {
	f := newFleetOf(t)
	const files = 300
	for n := range files {
		if err := os.WriteFile(filepath.Join(f.one.workspace, fmt.Sprintf("%03d", n)), make([]byte, 100_000),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := map[string]instance{"one": f.one, "two": f.two}
	running := map[string]*exec.Cmd{"one": f.one.worker(t, f.identities["one"], 1)}
	running["two"] = f.two.standby(t, f.identities["two"])
	for round := range 6 {
		from, to := f.where(t), "two"
		if from == "two" {
			to = "one"
		}
		victim := []string{from, to}[round%2]
		move := f.center.command(hosttest.Program("bin/picoclaw"), "fleet", "move", "main", to, "--fleet", f.admin)
		if err := move.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(900+round*250) * time.Millisecond) // anywhere in it
		_ = running[victim].Process.Kill()
		_ = running[victim].Wait()
		_ = move.Process.Kill()
		_ = move.Wait()
		other := running[map[string]string{"one": "two", "two": "one"}[victim]].Process
		// When it has been silent for three seconds the other one takes the agent, with the workspace that it has.
		slow := time.AfterFunc(2*time.Second, func() { _ = other.Signal(syscall.SIGSTOP) })
		running[victim] = at[victim].start(t, "the worker "+victim+" ", "worker", "--fleet", f.identities[victim])
		slow.Stop()
		if err := other.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		count := func(name string) int {
			all, err := os.ReadDir(at[name].workspace)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		comes(t, "one has it all", func() bool {
			out, _ := f.center.picoclaw(t, "fleet", "status", "--fleet", f.gateway)
			return !strings.Contains(out, "on its way") && !strings.Contains(out, "is gone") &&
				count("one")+count("two") == files &&
				count(f.where(t)) == files
		})
		comes(t, fmt.Sprintf("round %d: the agent can be called", round), func() bool {
			out, _ := f.center.picoclaw(t, "call", "--fleet", f.gateway, "--agent", "main", "file_stat", "path=299")
			return strings.Contains(out, "100000")
		})
	}
}
