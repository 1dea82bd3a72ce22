//go:build linux

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/output"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

func startPlugin(t *testing.T) *sdktest.Plugin {
	t.Helper()
	return startPluginWith(t, sdktest.Options{})
}

func startPluginWith(t *testing.T, o sdktest.Options) *sdktest.Plugin {
	t.Helper()
	l, err := isolation.NewStarter(isolation.Config{}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return sdktest.Start(t, newPlugin(&shellPlugin{launcher: l}), o)
}

// A command that does not want to end, detaches what it starts and holds its pipes is ended all the same, and the
// call returns in time.
func TestStubbornCommandIsKilled(t *testing.T) {
	for name, command := range map[string]string{
		"sleeps":         "echo $$ > pids; exec sleep 300",
		"ignores TERM":   "trap '' TERM; echo $$ > pids; while :; do sleep 1; done",
		"has children":   "sleep 300 & echo $! > pids; sleep 300 & echo $! >> pids; wait",
		"detaches":       "setsid sleep 300 & echo $! > pids; sleep 300",
		"holds the pipe": "sleep 300 & echo $! > pids; exit 0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPlugin(t)
			var data []byte
			for limit := 1; len(data) == 0; limit *= 2 { // on a busy machine it may take longer to begin
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(limit)*time.Second+patience)
				p.CallContext(ctx, "exec", map[string]any{"command": command, "timeout": limit})
				if ctx.Err() != nil {
					t.Fatal("it goes on")
				}
				cancel()
				data, _ = os.ReadFile(filepath.Join(p.Dir, "pids"))
			}
			for _, text := range strings.Fields(string(data)) {
				pid, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				gone(t, pid)
			}
		})
	}
}

// patience is for what has to happen, on a busy machine too.
const patience = 30 * time.Second

func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err != nil || len(line) == 0 { // a zombie has no command line
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on: %s", pid, line)
		}
	}
}

func TestCancellingEndsTheCommand(t *testing.T) {
	p := startPlugin(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if data, err := os.ReadFile(filepath.Join(p.Dir, "begun")); err == nil && strings.HasSuffix(string(data), "\n") {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	p.CallContext(ctx, "exec", map[string]any{"command": "echo $$ > begun; exec sleep 300"})
	data, err := os.ReadFile(filepath.Join(p.Dir, "begun"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

func TestLongOutputIsExcerptedAndStored(t *testing.T) {
	p := startPlugin(t)
	r := p.Call("exec", map[string]any{"command": "echo begin; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end"})
	var out execOutput
	if err := json.Unmarshal(r.Structured, &out); err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	if len(r.Text) > 3*output.ExcerptBytes || !strings.HasPrefix(r.Text, "begin\n") || !strings.HasSuffix(out.Output, "\nend\n") ||
		out.Truncated == 0 {
		t.Errorf("%d bytes, %d left out, from %.10q to %q", len(r.Text), out.Truncated, r.Text, r.Text[len(r.Text)-10:])
	}
	if whole, err := os.ReadFile(filepath.Join(p.Dir, out.OutputFile)); err != nil || len(whole) != 5000000+11 ||
		!strings.HasPrefix(string(whole), "begin\nxx") {
		t.Errorf("the whole output is %d bytes in %q: %v", len(whole), out.OutputFile, err)
	}
	if len(r.Output) == 0 || len(r.Output) > 5000000+100 {
		t.Errorf("%d bytes were passed on while it ran", len(r.Output))
	}
	// Exactly as much as is kept, and a byte more.
	for size, missing := range map[int]int64{2 * output.ExcerptBytes: 0, 2*output.ExcerptBytes + 1: 1} {
		r := p.Call("exec", map[string]any{"command": "head -c " + strconv.Itoa(size) + " /dev/zero | tr '\\0' x"})
		var out execOutput
		if err := json.Unmarshal(r.Structured, &out); err != nil {
			t.Fatal(err)
		}
		if out.Truncated != missing {
			t.Errorf("of %d bytes %d were left out", size, out.Truncated)
		}
	}
}

func TestTimeoutHintNamesMaximum(t *testing.T) {
	for asked, want := range map[int]string{
		90: "the timeout 1m30s exceeds KEY (7s)", 7: "the maximum is KEY (7s), which the operator may raise",
		5: "use a longer timeout, up to KEY (7s)", 0: "the maximum is KEY (7s), which the operator may raise",
	} {
		for key, named := range map[string]string{"": "tools.exec.timeout_seconds", "tools.cron.x": "tools.cron.x"} {
			want := strings.Replace(want, "KEY", named, 1) + "; run it in parts, or in the background"
			if got := timeoutHint(exec.CommandSettings{Timeout: 7 * time.Second, TimeoutKey: key}, asked); got != want {
				t.Errorf("%d: %q, want %q", asked, got, want)
			}
		}
	}
}
