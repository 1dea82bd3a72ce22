package fleet_test

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

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// played is a fleet of processes: a hub, two workers with one agent, and a gateway, each with a cable to the hub.
type played struct {
	hub, front   clitest.Home
	at           string // the hub's address
	port         string // of the gateway
	token        string
	server, door *exec.Cmd
	doors        *hosttest.FlakyProxy
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
	clitest.Home
	cable *hosttest.FlakyProxy
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
func (p *played) identified(t *testing.T, args ...string) (string, *hosttest.FlakyProxy) {
	t.Helper()
	file := filepath.Join(p.hub.Dir, args[1]+".fleet")
	if out, code := p.hub.Run(t, append([]string{"hub", "add", "--out", file}, args...)...); code != clitest.ExitOK {
		t.Fatal(out)
	}
	id, err := identity.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	cable, far := hosttest.NewFlakyLink(t, p.at)
	id.URLs = []string{"tls://" + far}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	created, err := identity.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.Keep(created); err != nil {
		t.Fatal(err)
	}
	return file, cable
}

func (p *played) startHub(t *testing.T) {
	p.server = p.hub.StartPicoclaw(t, "serves at", "hub", "--listen", p.at)
}

func (p *played) startDoor(t *testing.T) {
	p.door = p.front.StartPicoclaw(t, "serves at", "gateway", "--fleet", filepath.Join(p.hub.Dir, "front.fleet"), "--port", p.port)
}

func (p *played) startWorker(t *testing.T, name, sign string) {
	w := p.workers[name]
	w.cmd = w.StartPicoclaw(t, sign, "worker", "--fleet", filepath.Join(p.hub.Dir, name+".fleet"), "--log-level", "warn")
}

// play starts a fleet.
func play(t *testing.T) *played {
	t.Helper()
	return playOn(t, clitest.NewHome(t))
}

// playOn starts a fleet with a home for its hub.
func playOn(t *testing.T, hub clitest.Home) *played {
	t.Helper()
	p := &played{hub: hub, front: clitest.NewHome(t), at: freeAddress(t), workers: map[string]*playedWorker{},
		outcomes: map[string]string{}, over: make(chan struct{})}
	_, p.port, _ = net.SplitHostPort(freeAddress(t))
	p.startHub(t)
	for _, name := range []string{"one", "two"} {
		w := &playedWorker{Home: clitest.NewHome(t)}
		_, w.cable = p.identified(t, "worker", name, "--agent", "main")
		p.workers[name] = w
	}
	_, p.doors = p.identified(t, "gateway", "front")
	file, _ := p.identified(t, "gateway", "looking")
	p.startWorker(t, "one", "serves agent")
	p.startWorker(t, "two", "")
	p.look(t, file)
	p.startDoor(t)
	out, _ := p.front.Run(t, "gateway", "token", "--fleet", "--agent", "main")
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
	hosttest.WaitUntil(t, "a worker has the agent", func() bool {
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
	hosttest.WaitUntil(t, "another worker has the agent", func() bool { return p.holder(t) != name })
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
