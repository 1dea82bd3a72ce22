//go:build long

package fleet_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

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
			if _, _, session, _ = p.ask(client, "", clitest.InitializeMessage); session == "" {
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
		hosttest.WaitUntil(t, "calls are answered again", func() bool { return count() > last })
	}
	t.Logf("calls were answered again after %s", time.Since(began).Round(time.Millisecond))
}

// check compares what was answered with what was written, on both machines.
func (p *played) check(t *testing.T) {
	t.Helper()
	written := map[string]int{}
	for _, w := range p.workers {
		text, err := os.ReadFile(filepath.Join(w.Workspace, "lines"))
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
	t.Parallel()
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
			p.workers[holder].cable.Restore()
		}},
		{"nothing that the worker sends arrives", func(holder string) {
			p.workers[holder].cable.PauseData(true, false)
			p.movesFrom(t, holder)
			p.workers[holder].cable.PauseData(false, false)
		}},
		{"nothing that is sent to the worker arrives", func(holder string) {
			p.workers[holder].cable.PauseData(false, true)
			p.movesFrom(t, holder)
			p.workers[holder].cable.PauseData(false, false)
		}},
		{"the gateway's connection takes everything and brings nothing", func(string) {
			p.doors.PauseData(true, true)
			time.Sleep(3 * time.Second)
			p.doors.PauseData(false, false)
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
