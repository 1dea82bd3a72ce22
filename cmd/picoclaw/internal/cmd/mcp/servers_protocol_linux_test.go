package mcp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// A server that dies in a call has been called once: the call is an error that says so, it is not repeated, and the
// next one works.
func TestCrashedCallIsNotRepeated(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	c, _, _ := h.ConnectClient(nil)
	for n := 1; n < 4; n++ {
		r := mcptest.MustCallTool(t, c, "evil_try", map[string]any{"what": "die"})
		if !r.IsError || !strings.Contains(mcptest.ResultText(r), "ended during the call") || !strings.Contains(mcptest.ResultText(r), "these are its last words") {
			t.Errorf("%s", mcptest.ResultText(r))
		}
		done, err := os.ReadFile(filepath.Join(h.CreateStateDir("evil"), "done"))
		if got := strings.Count(string(done), "done"); err != nil || got != n {
			t.Errorf("after %d calls it was done %d times (%v)", n, got, err)
		}
		if r := mcptest.MustCallTool(t, c, "evil_steady", map[string]any{}); r.IsError || mcptest.ResultText(r) != "steady" {
			t.Errorf("the next call: %s", mcptest.ResultText(r))
		}
	}
	// Through a host for this call alone, as well.
	if a := h.RunAttack("die", "", ""); a.OK || a.Error.Code != "unavailable" {
		t.Error(a.FullText())
	}
}

// What is printed between messages is no message, and ends nothing.
func TestServerOutputOtherThanMessagesIsIgnored(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("garbage")
	for range 2 {
		if a := h.CallTool("evil.steady", map[string]any{}); a.Text != "steady" {
			t.Error(a.FullText())
		}
	}
}

// A message that is too long, and one that never ends, is an error, and takes neither the host nor the machine's memory
// with it.
func TestMessageLengthIsLimited(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	c, _, _ := h.ConnectClient(nil)
	for _, what := range []string{"large", "endless"} {
		r := mcptest.MustCallTool(t, c, "evil_try", map[string]any{"what": what})
		if !r.IsError || !strings.Contains(mcptest.ResultText(r), "evil") {
			t.Errorf("%s: %.300s", what, mcptest.ResultText(r))
		}
		if r := mcptest.MustCallTool(t, c, "evil_steady", map[string]any{}); r.IsError || mcptest.ResultText(r) != "steady" {
			t.Errorf("after %s: %.300s", what, mcptest.ResultText(r))
		}
	}
}

// What a server says to its standard error is no reason to stop, however much it is.
func TestIgnoreNotesAreLimited(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	if a := h.RunAttack("errors", "", ""); a.Text != "said" {
		t.Errorf("%.300s", a.FullText())
	}
}

// Answers to what nobody has asked are not taken for others.
func TestForgedAnswersAreNoAnswers(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	c, _, _ := h.ConnectClient(nil)
	mcptest.MustCallTool(t, c, "evil_steady", map[string]any{})
	for range 3 {
		if r := mcptest.MustCallTool(t, c, "evil_try", map[string]any{"what": "answers"}); mcptest.ResultText(r) != "answered" {
			t.Errorf("%s", mcptest.ResultText(r))
		}
		if r := mcptest.MustCallTool(t, c, "evil_steady", map[string]any{}); mcptest.ResultText(r) != "steady" {
			t.Errorf("%s", mcptest.ResultText(r))
		}
	}
}

// A structured result that is not such as its schema says is an error, and so is one that is missing.
func TestResultsMustMatchSchema(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("promises")
	if a := h.CallTool("evil.fits", map[string]any{}); !a.OK || string(a.Structured) != `{"n":1}` {
		t.Error(a.FullText())
	}
	for tool, why := range map[string]string{"other": "violates its schema", "missing": "lacks the structured content"} {
		a := h.CallTool("evil."+tool, map[string]any{})
		if a.OK || a.Error.Code != "bad_result" || !strings.Contains(a.Error.Message, why) || len(a.Structured) > 0 {
			t.Errorf("%s: %s %s", tool, a.FullText(), a.Structured)
		}
	}
}

// A call that is given up ends, although the server does not answer, be it at its start or in the call.
func TestHangingCallCanBeCancelled(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"hangs in initialize", "hangs in tools/list", ""} {
		t.Run("it "+how, func(t *testing.T) {
			t.Parallel()
			h := mcptest.NewHome(t)
			h.AddMaliciousServer("")
			h.SetMaliciousServerBehaviour(how)
			c, host, _ := h.ConnectClient(nil)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := c.CallTool(ctx, &sdkmcp.CallToolParams{Name: "evil_try", Arguments: map[string]any{"what": "hang"}})
				ended <- err
			}()
			hosttest.WaitUntil(t, "the server runs", func() bool {
				_, err := os.Stat(filepath.Join(h.CreateStateDir("evil"), "hangs"))
				return mcptest.IsProcessRunning(h.Home, "/own/malicious") && (how == "" || err == nil)
			})
			cancel()
			if err := <-ended; err == nil {
				t.Error("it has answered")
			}
			if how == "" {
				return // the server serves one call after another and goes on with this one
			}
			h.SetMaliciousServerBehaviour("")
			if r := mcptest.MustCallTool(t, c, "evil_steady", map[string]any{}); mcptest.ResultText(r) != "steady" {
				t.Errorf("the next call: %s", mcptest.ResultText(r))
			}
			if !hosttest.IsProcessAlive(host.Process.Pid) {
				t.Error("the host has ended")
			}
		})
	}
}

// Whoever adds a server that does not answer can give it up, and nothing of it stays.
func TestAddOfHangingServerCanBeCancelled(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"hangs in initialize", "hangs in tools/list"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h := mcptest.NewHome(t)
			cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "mcp", "add", "evil", "--yes", "--",
				hosttest.ProgramPath("servers/malicious"), "{{state}}", how)
			cmd.Env = h.Env
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			hosttest.WaitUntil(t, "the server runs", func() bool { return mcptest.IsProcessRunning(h.Home, "/own/malicious") })
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("it is added")
			}
			hosttest.WaitUntil(t, "the server has ended", func() bool { return !mcptest.IsProcessRunning(h.Home, "") })
			if all := h.ListServers(); len(all) > 0 {
				t.Errorf("%v", all)
			}
			left, err := filepath.Glob(filepath.Join(h.Home, "plugins", "*evil*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

// A model to sample is not offered, and where the workspace is said only to whom it is to be.
func TestServerRequestsToClient(t *testing.T) {
	t.Parallel()
	for _, roots := range []bool{false, true} {
		h := mcptest.NewHome(t)
		flags := []string{"--workspace", "ro"}
		if roots {
			flags = append(flags, "--roots")
		}
		h.AddMaliciousServer("", flags...)
		if a := h.RunAttack("sample", "", ""); !strings.HasPrefix(a.Text, "sampled: error") {
			t.Error(a.FullText())
		}
		a := h.RunAttack("roots", "", "")
		if strings.Contains(a.Text, "file://"+h.Workspace) != roots || !strings.HasPrefix(a.Text, "roots: ") {
			t.Errorf("roots %v: %s", roots, a.FullText())
		}
		// Nobody is there to ask.
		if a := h.RunAttack("elicit", "", ""); a.Text != `elicited: {"action":"cancel"}` {
			t.Error(a.FullText())
		}
	}
}
