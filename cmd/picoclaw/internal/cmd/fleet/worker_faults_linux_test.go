package fleet_test

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

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// A worker that is stopped as a whole can't end what it has started. It ends that when it goes on, and does not say
// that it was done.
func TestAWorkerThatWasStoppedEndsWhatItHasStarted(t *testing.T) {
	t.Parallel()
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
		text, _ := os.ReadFile(filepath.Join(worker.Workspace, "slow"))
		return strings.Count(string(text), "\n")
	}
	hosttest.WaitUntil(t, "the command runs", func() bool { return lines() > 0 })
	var loops []int
	for pid, line := range clitest.DescendantProcesses(worker.cmd.Process.Pid) {
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
	hosttest.WaitUntil(t, "the command is ended", func() bool {
		for _, pid := range loops {
			if hosttest.IsProcessAlive(pid) {
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
	if _, err := os.Stat(filepath.Join(worker.Workspace, "lines")); err == nil {
		t.Error("the worker has made a call that is not its own any more")
	}
}

// session opens a session.
func (p *played) session(t *testing.T) string {
	t.Helper()
	_, text, session, err := p.ask(&http.Client{}, "", clitest.InitializeMessage)
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
	t.Parallel()
	mount := exec.Command("unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt")
	if out, err := mount.CombinedOutput(); err != nil {
		t.Fatalf("no small disk can be made here: %s", out)
	}
	address := startNATS(t)
	here, elsewhere := clitest.NewHome(t), clitest.NewHome(t)
	journal := filepath.Join(here.Dir, "fleet", "journal")
	if err := os.MkdirAll(journal, 0o700); err != nil {
		t.Fatal(err)
	}
	clitest.StartCommand(t, here.Command("unshare", "--map-root-user", "--mount", "sh", "-c",
		`mount -t tmpfs -o size=64k,mode=0777 tmpfs "$1" && shift && exec "$@"`, "sh", journal,
		hosttest.ProgramPath("bin/picoclaw"), "worker", "--fleet", address, "--name", "one"), "serves agent")
	p := &played{front: elsewhere, port: strings.TrimPrefix(freeAddress(t), "127.0.0.1:")}
	p.door = p.front.StartPicoclaw(t, "serves at", "gateway", "--fleet", address, "--port", p.port)
	out, _ := p.front.Run(t, "gateway", "token", "--fleet", "--agent", "main")
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
		text, _ := os.ReadFile(filepath.Join(here.Workspace, "lines"))
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
	t.Parallel()
	address := startNATS(t)
	here, elsewhere := clitest.NewHome(t), clitest.NewHome(t)
	was := here.StartPicoclaw(t, "serves agent", "worker", "--fleet", address, "--name", "one")
	if err := was.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = was.Wait()
	home := filepath.Join(here.Dir, "fleet")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	clitest.StartCommand(t, here.Command("unshare", "--map-root-user", "--mount", "sh", "-c",
		`mount -t tmpfs -o size=64k,mode=0777 tmpfs "$1" && mkdir "$1/journal" && touch "$1/journal/main" "$1/lock" &&
		 chmod -R a+rwX "$1" && printf '%64s' > "$1/lock" && ! cat /dev/zero > "$1/rest" && shift && exec "$@"`, "sh", home,
		hosttest.ProgramPath("bin/picoclaw"), "worker", "--fleet", address, "--name", "one", "--log-level", "warn"),
		"an agent can't be taken yet")
	elsewhere.StartPicoclaw(t, "serves agent", "worker", "--fleet", address, "--name", "two")
	if out, code := elsewhere.Run(t, "call", "--fleet", address, "exec", "command=echo here"); code != clitest.ExitOK || out != "here\n" {
		t.Errorf("%d %s", code, out)
	}
}
