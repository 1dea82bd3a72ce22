//go:build long

// Package soak_test runs a gateway under load for minutes.
package soak_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

var duration = flag.Duration("soak", 5*time.Minute, "duration of the load; a minute or more")

const (
	inFlight = 8 // calls at a time

	undoBytes    = 8 << 20  // of an agent's undo history
	restBytes    = 48 << 20 // of a home besides logs and undo history: 32 MiB are the reserve of the kill switch
	auditPerCall = 4 << 10
)

// step is one call. want is a part of its answer; cancelled calls have no answer that is certain.
type step struct {
	tool, want string
	fails      bool
	cancel     bool
	args       map[string]any
}

// steps are the calls of one round of a caller: half of them fail.
func steps(caller, round int) []step {
	file := fmt.Sprintf("caller%d.txt", caller)
	text := strings.Repeat(fmt.Sprintf("line of round %d\n", round), 200)
	return []step{
		{tool: "write_file", want: "File written", args: map[string]any{"path": file, "content": text}},
		{tool: "read_file", fails: true, args: map[string]any{"path": "/etc/shadow"}},
		{tool: "edit_file", args: map[string]any{"path": file, "old_text": text, "new_text": text + "edited\n"}},
		{tool: "read_file", fails: true, args: map[string]any{"path": fmt.Sprintf("missing%d", round)}},
		{tool: "exec", want: "edited", args: map[string]any{"command": "tail -1 " + file}},
		{tool: "exec", fails: true, args: map[string]any{"command": "kill -KILL $$"}},
		{tool: "grep", want: file, args: map[string]any{"pattern": "edited", "path": file}},
		{tool: "exec", fails: true, args: map[string]any{"command": "sleep 30 & sleep 30", "timeout": 1}},
		{tool: "exec", want: "made", args: map[string]any{"command": "echo made | tee made" + file}},
		{tool: "write_file", fails: true, args: map[string]any{"path": 7, "contents": "x"}},
		{tool: "read_file", want: "made", args: map[string]any{"path": "made" + file}},
		{tool: "exec", fails: true, cancel: true, args: map[string]any{"command": "sleep 30", "timeout": 20}},
		{tool: "append_file", args: map[string]any{"path": file, "content": "appended\n"}},
		{tool: "exec", fails: true, args: map[string]any{"command": "rm -rf /"}},
	}
}

// caller has one session of the gateway.
type caller struct {
	t       *testing.T
	number  int
	url     string
	token   string
	session map[string]string
	calls   int
}

// run makes calls until over is closed.
func (c *caller) run(over <-chan struct{}, undo func()) {
	for round := 0; ; round++ {
		for i, s := range steps(c.number, round) {
			select {
			case <-over:
				return
			default:
			}
			c.call(fmt.Sprintf("%d-%d-%d", c.number, round, i), s, round%2 == 0)
		}
		if c.number == 0 && round > 0 {
			undo()
		}
	}
}

// call makes a call. A cancelled one is ended by a notification or by closing its connection.
func (c *caller) call(id string, s step, notify bool) {
	c.calls++
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.cancel {
		timer := time.AfterFunc(300*time.Millisecond, func() {
			if notify {
				_, _ = c.post(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, id))
			} else {
				cancel()
			}
		})
		defer timer.Stop()
	}
	args, err := json.Marshal(s.args)
	if err != nil {
		c.t.Error(err)
	}
	answer, err := c.post(ctx, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, s.tool, args))
	if s.cancel {
		return
	}
	failed := strings.Contains(answer, `"isError":true`) || strings.Contains(answer, `"error":{`)
	if err != nil || failed != s.fails || !strings.Contains(answer, s.want) {
		c.t.Errorf("%s %s: %v %.500s", s.tool, args, err, answer)
	}
}

func (c *caller) post(ctx context.Context, message string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(message))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range c.session {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// newHome is a home outside of /tmp, where sandboxes have their own.
func newHome(t *testing.T) clitest.Home {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	home := clitest.Home{Dir: dir, Workspace: filepath.Join(dir, "workspace"), Program: hosttest.ProgramPath("bin/picoclaw")}
	other := filepath.Join(dir, "other")
	for _, workspace := range []string{home.Workspace, other} {
		if err := os.Mkdir(workspace, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	home.WriteConfig(t, fmt.Sprintf(`{"audit": {"max_files": 0}, "tools": {"undo": {"max_size": %d}},
		"agents": {"agents": [{"id": "main"}, {"id": "undoing", "workspace": %q}]}}`, undoBytes, other))
	return home
}

// A gateway that works for minutes, with half of the calls failing, does not grow, and loses nothing.
func TestGatewayStaysFlat(t *testing.T) {
	home := newHome(t)
	isolated := func(args ...string) *exec.Cmd {
		cmd := home.Command(home.Program, args...)
		cmd.Env = append(cmd.Env, "PICOCLAW_ISOLATION_ENABLED=true")
		return cmd
	}
	const sign = "the gateway serves at "
	gateway := clitest.StartCommand(t, isolated("gateway", "--port", "0"), sign)
	_, url, _ := strings.Cut(gateway.Stderr.(*clitest.OutputBuffer).String(), sign)
	url, _, _ = strings.Cut(url, "\n")

	done := make(chan struct{})
	usages := &usageLog{pid: gateway.Process.Pid, samples: map[string][]sample{}, seen: map[int]string{}}
	var watching, calling sync.WaitGroup
	watching.Go(func() { usages.watch(done) })
	undone := 0
	undo := func() {
		undone++
		if out, err := isolated("undo", "--agent", "undoing").CombinedOutput(); err != nil {
			t.Errorf("undo: %v %s", err, out)
		}
	}
	over := time.AfterFunc(*duration, func() { close(done) })
	defer over.Stop()
	var callers []*caller
	for i := range inFlight {
		agent := "main"
		if i == 0 {
			agent = "undoing" // nobody else's changes come between
		}
		c := &caller{t: t, number: i, url: url + "/mcp/" + agent, token: home.GatewayToken(t, agent)}
		c.session = clitest.OpenHTTPSession(t, c.url, c.token)
		callers = append(callers, c)
		calling.Go(func() { c.run(done, undo) })
	}
	calling.Wait()
	watching.Wait()
	calls := 0
	for _, c := range callers {
		calls += c.calls
	}
	t.Logf("%d calls, %d undone", calls, undone)
	if undone == 0 {
		t.Error("nothing was undone")
	}
	usages.checkFlat(t)
	clitest.StopServer(t, gateway)
	hosttest.WaitUntil(t, "all processes of the gateway are gone", func() bool {
		for pid, line := range usages.seen {
			if now, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && hosttest.IsProcessAlive(pid) &&
				strings.ReplaceAll(string(now), "\x00", " ") == line {
				return false
			}
		}
		return true
	})
	checkLog(t, home, calls)
	checkSize(t, home, calls)
}

// checkLog verifies the audit log: every call is in it, with its end.
func checkLog(t *testing.T, home clitest.Home, calls int) {
	t.Helper()
	if out, code := home.Run(t, "audit", "verify"); code != clitest.ExitOK {
		t.Errorf("audit verify: %d %s", code, out)
	}
	entries, open := 0, 0
	broken, err := audit.ReadLog(filepath.Join(home.Dir, "logs", "audit.jsonl"), func(r audit.Record) error {
		entries++
		if r.IsOpen() {
			open++
		}
		return nil
	})
	if err != nil || broken > 0 || open > 0 || entries < calls {
		t.Errorf("the log has %d of %d calls, %d without an end, %d broken lines: %v", entries, calls, open, broken, err)
	}
}

// checkSize bounds what the home takes on disk.
func checkSize(t *testing.T, home clitest.Home, calls int) {
	t.Helper()
	sizes := map[string]int64{}
	err := filepath.WalkDir(home.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(home.Dir, path)
		kind := "the rest"
		if strings.HasPrefix(name, "logs/") {
			kind = "logs"
		} else if strings.HasPrefix(name, "state/takeback/") {
			kind = "undo history"
		}
		sizes[kind] += info.Size()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(sizes)
	for kind, bound := range map[string]int64{"logs": int64(calls) * auditPerCall, "undo history": 2 * undoBytes * 5 / 4, "the rest": restBytes} {
		if sizes[kind] > bound {
			t.Errorf("%s of the home take %d bytes after %d calls, more than %d", kind, sizes[kind], calls, bound)
		}
	}
}
