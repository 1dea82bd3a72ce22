package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// A worker that is stopped as a whole can't end what it has started. It ends that when it goes on, and does not say
// that it was done.
func TestAWorkerThatWasStoppedEndsWhatItHasStarted(t *testing.T) {
	p := play(t)
	name := p.holder(t)
	worker := p.workers[name]
	session := p.session(t)
	answers := make(chan string, 1)
	go func() {
		arguments, _ := json.Marshal(map[string]any{"timeout": 60,
			"command": "for i in $(seq 600); do echo $i >> slow; sleep 0.05; done; echo 'to the end'"})
		_, text, _, err := p.ask(&http.Client{}, session, fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":%s}}`, arguments))
		answers <- fmt.Sprint(text, err)
	}()
	lines := func() int {
		text, _ := os.ReadFile(filepath.Join(worker.workspace, "slow"))
		return strings.Count(string(text), "\n")
	}
	hosttest.Eventually(t, "the command runs", func() bool { return lines() > 0 })
	var loops []int
	for pid, line := range descendants(worker.cmd.Process.Pid) {
		if strings.Contains(line, "seq 600") {
			loops = append(loops, pid)
		}
	}
	if err := worker.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.movesFrom(t, name)
	if answer := <-answers; !strings.Contains(answer, "nobody knows whether") {
		t.Errorf("the call was answered: %s", answer)
	}
	if err := worker.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	hosttest.Eventually(t, "the command is ended", func() bool {
		for _, pid := range loops {
			if hosttest.Alive(pid) {
				return false
			}
		}
		return len(loops) > 0
	})
	if n := lines(); n >= 600 {
		t.Errorf("the command has written %d lines", n)
	}
	if outcome, err := p.write(&http.Client{}, session, "after"); outcome != wasMade || err != nil {
		t.Errorf("a call after that: %s %v", outcome, err)
	}
	if _, err := os.Stat(filepath.Join(worker.workspace, "lines")); err == nil {
		t.Error("the worker has made a call that is not its own any more")
	}
}

// session opens a session.
func (p *played) session(t *testing.T) string {
	t.Helper()
	_, text, session, err := p.ask(&http.Client{}, "", initializeMessage)
	if err == nil && session != "" {
		_, _, _, err = p.ask(&http.Client{}, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	if err != nil || session == "" {
		t.Fatalf("no session: %s %v", text, err)
	}
	return session
}

// Where the journal's disk is full, calls are refused and not made.
func TestAFullDiskHasCallsRefused(t *testing.T) {
	mount := exec.Command("unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt")
	if out, err := mount.CombinedOutput(); err != nil {
		t.Fatalf("no small disk can be made here: %s", out)
	}
	address := startNATS(t)
	here, elsewhere := newInstance(t), newInstance(t)
	journal := filepath.Join(here.home, "fleet", "journal")
	if err := os.MkdirAll(journal, 0o700); err != nil {
		t.Fatal(err)
	}
	serving(t, here.command("unshare", "--map-root-user", "--mount", "sh", "-c",
		`mount -t tmpfs -o size=64k,mode=0777 tmpfs "$1" && shift && exec "$@"`, "sh", journal,
		hosttest.Program("bin/picoclaw"), "worker", "--fleet", address, "--name", "one"), "serves agent")
	p := &played{front: elsewhere, port: strings.TrimPrefix(freeAddress(t), "127.0.0.1:")}
	p.door = p.front.start(t, "serves at", "gateway", "--fleet", address, "--port", p.port)
	out, _ := p.front.picoclaw(t, "gateway", "token", "--fleet", "--agent", "main")
	p.token = strings.TrimSpace(out)
	session := p.session(t)
	count := map[string]int{}
	for n := 0; count[notMade] < 20; n++ {
		if n > 2000 {
			t.Fatalf("the disk is not full: %v", count)
		}
		line := fmt.Sprint("line-", n)
		outcome, err := p.write(&http.Client{}, session, line)
		if err != nil {
			t.Fatal(err)
		}
		count[outcome]++
		text, _ := os.ReadFile(filepath.Join(here.workspace, "lines"))
		if made := strings.Count(string(text), line+"\n"); (outcome == wasMade) != (made == 1) || made > 1 {
			t.Fatalf("%s was made %d times, and said to be %s", line, made, outcome)
		}
	}
	t.Log(count)
	if count[wasMade] < 20 || p.unusual != "" {
		t.Errorf("%v %s", count, p.unusual)
	}
}

// A worker without room for its journal leaves an agent to whoever has room, though it was the one that had it last.
func TestAFullDiskHasAnotherWorkerTakeTheAgent(t *testing.T) {
	address := startNATS(t)
	here, elsewhere := newInstance(t), newInstance(t)
	was := here.start(t, "serves agent", "worker", "--fleet", address, "--name", "one")
	if err := was.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = was.Wait()
	home := filepath.Join(here.home, "fleet")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	serving(t, here.command("unshare", "--map-root-user", "--mount", "sh", "-c",
		`mount -t tmpfs -o size=64k,mode=0777 tmpfs "$1" && mkdir "$1/journal" && touch "$1/journal/main" "$1/lock" &&
		 chmod -R a+rwX "$1" && printf '%64s' > "$1/lock" && ! cat /dev/zero > "$1/rest" && shift && exec "$@"`, "sh", home,
		hosttest.Program("bin/picoclaw"), "worker", "--fleet", address, "--name", "one", "--log-level", "warn"),
		"an agent can't be taken yet")
	elsewhere.start(t, "serves agent", "worker", "--fleet", address, "--name", "two")
	if out, code := elsewhere.picoclaw(t, "call", "--fleet", address, "exec", "command=echo here"); code != exitOK || out != "here\n" {
		t.Errorf("%d %s", code, out)
	}
}

// A network loses what is sent, one way or both, and nobody is told. It takes root to make such a network.
func TestANetworkThatLosesEverythingOneWay(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes networks")
	}
	p := &played{hub: newInstance(t), workers: map[string]*playedWorker{}}
	name := fmt.Sprint("pc", os.Getpid())
	ip := func(args ...string) error {
		out, err := exec.Command("ip", args...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
		return err
	}
	if err := ip("netns", "add", name); err != nil {
		t.Fatalf("no network can be made here: %v", err)
	}
	t.Cleanup(func() { _ = ip("netns", "del", name) })
	for _, args := range [][]string{
		{"link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name},
		{"addr", "add", "198.18.77.1/30", "dev", name}, {"link", "set", name, "up"},
		{"-n", name, "addr", "add", "198.18.77.2/30", "dev", "eth0"}, {"-n", name, "link", "set", "eth0", "up"},
		{"-n", name, "link", "set", "lo", "up"},
	} {
		if err := ip(args...); err != nil {
			t.Fatalf("no network can be made here: %v", err)
		}
	}
	_, port, _ := strings.Cut(freeAddress(t), ":")
	p.hub.start(t, "serves at", "hub", "--listen", "0.0.0.0:"+port, "--name", "198.18.77.1")
	added := func(args ...string) string {
		file := filepath.Join(p.hub.home, args[1]+".fleet")
		if out, code := p.hub.picoclaw(t, append([]string{"hub", "add", "--out", file}, args...)...); code != exitOK {
			t.Fatal(out)
		}
		return file
	}
	there := newInstance(t)
	far := there.command("ip", "netns", "exec", name, hosttest.Program("bin/picoclaw"), "worker",
		"--fleet", added("worker", "one", "--agent", "main"))
	serving(t, far, "serves agent")
	standby, second := newInstance(t), added("worker", "two", "--agent", "main")
	p.look(t, added("gateway", "looking"))
	lose := map[string][2][]string{ // what has it lose everything, and no more
		"what is sent to it": {
			{"neigh", "replace", "198.18.77.2", "lladdr", "02:00:00:00:00:99", "dev", name, "nud", "permanent"},
			{"neigh", "del", "198.18.77.2", "dev", name}},
		"what it sends": {
			{"-n", name, "neigh", "replace", "198.18.77.1", "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent"},
			{"-n", name, "neigh", "del", "198.18.77.1", "dev", "eth0"}},
		"both": {{"link", "set", name, "down"}, {"link", "set", name, "up"}},
	}
	for what, how := range lose {
		hosttest.Eventually(t, "the worker that is to be cut off has the agent", func() bool { return p.holder(t) == "one" })
		other := standby.start(t, "", "worker", "--fleet", second)
		hosttest.Eventually(t, "another worker is there", func() bool {
			workers, _, err := p.looking.Status(t.Context())
			return err == nil && len(workers) == 2
		})
		t.Logf("lost is %s", what)
		if err := ip(how[0]...); err != nil {
			t.Fatal(err)
		}
		p.movesFrom(t, "one")
		if err := ip(how[1]...); err != nil {
			t.Fatal(err)
		}
		stop(t, other)
	}
}
