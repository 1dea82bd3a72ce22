package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// played is a fleet of processes: a hub, two workers with one agent, and a gateway, each with a cable to the hub.
type played struct {
	hub, front   instance
	at           string // the hub's address
	port         string // of the gateway
	token        string
	server, door *exec.Cmd
	doors        *hosttest.Cable
	workers      map[string]*playedWorker
	looking      *fleet.Fleet
	mu           sync.Mutex
	outcomes     map[string]string // by the line that a call was to write
	slowest      time.Duration
	unusual      string // what a call was answered that is none of the usual
	callers      sync.WaitGroup
	over         chan struct{}
}

type playedWorker struct {
	instance
	cable *hosttest.Cable
	cmd   *exec.Cmd
}

// freeAddress is an address where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// kill ends a process as the kernel does.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// identified is a file with which a machine takes part, over a cable of its own to the hub.
func (p *played) identified(t *testing.T, args ...string) (string, *hosttest.Cable) {
	t.Helper()
	file := filepath.Join(p.hub.home, args[1]+".fleet")
	if out, code := p.hub.picoclaw(t, append([]string{"hub", "add", "--out", file}, args...)...); code != exitOK {
		t.Fatal(out)
	}
	id, err := identity.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	cable, far := hosttest.Lay(t, p.at)
	id.URLs = []string{"tls://" + far}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := identity.Write(file, id); err != nil {
		t.Fatal(err)
	}
	return file, cable
}

func (p *played) startHub(t *testing.T) {
	p.server = p.hub.start(t, "serves at", "hub", "--listen", p.at)
}

func (p *played) startDoor(t *testing.T) {
	p.door = p.front.start(t, "serves at", "gateway", "--fleet", filepath.Join(p.hub.home, "front.fleet"), "--port", p.port)
}

func (p *played) startWorker(t *testing.T, name, sign string) {
	w := p.workers[name]
	w.cmd = w.start(t, sign, "worker", "--fleet", filepath.Join(p.hub.home, name+".fleet"), "--log-level", "warn")
}

// play starts a fleet.
func play(t *testing.T) *played {
	t.Helper()
	p := &played{hub: newInstance(t), front: newInstance(t), at: freeAddress(t), workers: map[string]*playedWorker{},
		outcomes: map[string]string{}, over: make(chan struct{})}
	_, p.port, _ = net.SplitHostPort(freeAddress(t))
	p.startHub(t)
	for _, name := range []string{"one", "two"} {
		w := &playedWorker{instance: newInstance(t)}
		_, w.cable = p.identified(t, "worker", name, "--agent", "main")
		p.workers[name] = w
	}
	_, p.doors = p.identified(t, "gateway", "front")
	file, _ := p.identified(t, "gateway", "looking")
	p.startWorker(t, "one", "serves agent")
	p.startWorker(t, "two", "")
	p.look(t, file)
	p.startDoor(t)
	out, _ := p.front.picoclaw(t, "gateway", "token", "--fleet", "--agent", "main")
	p.token = strings.TrimSpace(out)
	return p
}

// look has the test see who has the agent, as the machine of an identity file.
func (p *played) look(t *testing.T, file string) {
	t.Helper()
	conn, id, err := identity.Connect(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if p.looking, err = fleet.Join(t.Context(), conn, id.Tenant); err != nil {
		t.Fatal(err)
	}
}

// holder is the worker that has the agent.
func (p *played) holder(t *testing.T) string {
	t.Helper()
	var name string
	hosttest.Eventually(t, "a worker has the agent", func() bool {
		_, agents, err := p.looking.Status(t.Context())
		if err != nil || len(agents) != 1 || !agents[0].Alive {
			return false
		}
		name = agents[0].Worker
		return true
	})
	return name
}

// movesFrom waits until another worker has the agent, and logs how long that took.
func (p *played) movesFrom(t *testing.T, name string) {
	t.Helper()
	began := time.Now()
	hosttest.Eventually(t, "another worker has the agent", func() bool { return p.holder(t) != name })
	t.Logf("another worker had the agent %s later", time.Since(began).Round(time.Millisecond))
}

// ask sends a message to the gateway.
func (p *played) ask(client *http.Client, session, message string) (int, string, string, error) {
	r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1:"+p.port+"/mcp/main", strings.NewReader(message))
	if err != nil {
		return 0, "", "", err
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	response, err := client.Do(r)
	if err != nil {
		return 0, "", "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), response.Header.Get("Mcp-Session-Id"), err
}

// What comes of a call.
const (
	wasMade   = "made"    // it was answered: it was made
	maybeMade = "unknown" // it may have been made
	notMade   = "refused" // it was not made
)

// write has the agent write a line that nobody else writes, which must not happen twice.
func (p *played) write(client *http.Client, session, line string) (string, error) {
	arguments, _ := json.Marshal(map[string]string{"command": "echo " + line + " >> lines && echo made " + line})
	status, text, _, err := p.ask(client, session, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"exec","arguments":%s}}`, line, arguments))
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), status == http.StatusNotFound:
		return notMade, errors.New("there is no such session")
	case status == http.StatusServiceUnavailable:
		return notMade, errors.New("the gateway is ending")
	case err != nil:
		return maybeMade, err
	case !strings.Contains(text, `"isError":true`) && strings.Contains(text, "made "+line):
		return wasMade, nil
	case strings.Contains(text, "was not called:"), strings.Contains(text, "can't be written down"):
		return notMade, nil
	case !strings.Contains(text, "nobody knows whether"):
		p.mu.Lock()
		p.unusual = fmt.Sprintf("%d %.500s", status, text)
		p.mu.Unlock()
	}
	return maybeMade, nil
}

// keepWriting has calls made until there are enough.
func (p *played) keepWriting(name string) {
	const bound = 35 * time.Second // a call is given up some twenty seconds after its worker was heard for the last time
	client := &http.Client{Timeout: bound, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	session := ""
	for n := 0; ; n++ {
		select {
		case <-p.over:
			return
		default:
		}
		if session == "" {
			if _, _, session, _ = p.ask(client, "", initializeMessage); session == "" {
				time.Sleep(100 * time.Millisecond)
				continue
			}
			_, _, _, _ = p.ask(client, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		}
		line := fmt.Sprintf("%s-%d", name, n)
		began := time.Now()
		outcome, err := p.write(client, session, line)
		if err != nil {
			session = ""
		}
		p.mu.Lock()
		p.outcomes[line] = outcome
		p.slowest = max(p.slowest, time.Since(began))
		p.mu.Unlock()
	}
}

// madeSince waits for calls that are answered.
func (p *played) madeSince(t *testing.T) {
	t.Helper()
	count := func() (n int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, outcome := range p.outcomes {
			if outcome == wasMade {
				n++
			}
		}
		return n
	}
	before := count()
	began := time.Now()
	for last := before; last <= before+100; last = count() { // a busy machine takes its time, and goes on
		hosttest.Eventually(t, "calls are answered again", func() bool { return count() > last })
	}
	t.Logf("calls were answered again after %s", time.Since(began).Round(time.Millisecond))
}

// check compares what was answered with what was written, on both machines.
func (p *played) check(t *testing.T) {
	t.Helper()
	written := map[string]int{}
	for _, w := range p.workers {
		text, err := os.ReadFile(filepath.Join(w.workspace, "lines"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			written[strings.TrimSpace(line)]++
		}
	}
	count := map[string]int{}
	for line, outcome := range p.outcomes {
		count[outcome]++
		n := written[line]
		if n > 1 || outcome == wasMade && n != 1 || outcome == notMade && n != 0 {
			t.Errorf("%s, of which was said that it was %s, was made %d times", line, outcome, n)
		}
		delete(written, line)
	}
	if len(written) > 0 {
		t.Errorf("calls that nobody has made were: %v", written)
	}
	t.Logf("%d calls: %v; the slowest took %s", len(p.outcomes), count, p.slowest.Round(time.Millisecond))
	if p.unusual != "" {
		t.Logf("one was answered: %s", p.unusual)
	}
	if count[wasMade] < 100 {
		t.Errorf("hardly any calls were made: %v", count)
	}
}

// The processes of a fleet are killed, stopped and cut off while calls are made. None is made twice, and each that was
// answered was made.
func TestNoCallIsMadeTwiceWhenProcessesDie(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes most of a minute")
	}
	p := play(t)
	for i := range 16 {
		p.callers.Go(func() { p.keepWriting(fmt.Sprint("c", i)) })
	}
	ended := sync.OnceFunc(func() { close(p.over); p.callers.Wait() })
	defer ended()
	p.madeSince(t)
	for _, fault := range []struct {
		name string
		play func(holder string)
	}{
		{"the worker is killed and started again", func(holder string) {
			kill(t, p.workers[holder].cmd)
			p.startWorker(t, holder, "the worker "+holder+" ") // the other one may have the agent by now
		}},
		{"the hub is killed and started again", func(string) {
			kill(t, p.server)
			p.startHub(t)
		}},
		{"the gateway is killed and started again", func(string) {
			kill(t, p.door)
			p.startDoor(t)
		}},
		{"the hub is away for longer than leases last", func(string) {
			kill(t, p.server)
			time.Sleep(4 * time.Second)
			p.startHub(t)
		}},
		{"the worker's connection is cut for a moment", func(holder string) {
			p.workers[holder].cable.Cut()
			time.Sleep(500 * time.Millisecond)
			p.workers[holder].cable.Mend()
		}},
		{"nothing that the worker sends arrives", func(holder string) {
			p.workers[holder].cable.Hold(true, false)
			p.movesFrom(t, holder)
			p.workers[holder].cable.Hold(false, false)
		}},
		{"nothing that is sent to the worker arrives", func(holder string) {
			p.workers[holder].cable.Hold(false, true)
			p.movesFrom(t, holder)
			p.workers[holder].cable.Hold(false, false)
		}},
		{"the gateway's connection takes everything and brings nothing", func(string) {
			p.doors.Hold(true, true)
			time.Sleep(3 * time.Second)
			p.doors.Hold(false, false)
		}},
		{"the worker is stopped, and goes on when another one has its agent", func(holder string) {
			if err := p.workers[holder].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			p.movesFrom(t, holder)
			p.madeSince(t)
			if err := p.workers[holder].cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
		}},
		{"the worker is killed and stays away", func(holder string) {
			kill(t, p.workers[holder].cmd)
			p.movesFrom(t, holder)
		}},
	} {
		t.Log(fault.name)
		fault.play(p.holder(t))
		p.madeSince(t)
	}
	ended()
	p.check(t)
}
