package mcp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// bridgeToSocket connects standard input and output with the socket of a session in a running picoclaw. The client
// gets that session's tools and no others. No configuration is needed.
func bridgeToSocket(t *testing.T, isolated string, options *sdkmcp.ClientOptions) (*sdkmcp.ClientSession, string) {
	t.Helper()
	client, _, workspace := connectTo(t, isolated, options)
	return client, workspace
}

// connectTo is like connect and returns the server, too.
func connectTo(t *testing.T, isolated string, options *sdkmcp.ClientOptions) (client *sdkmcp.ClientSession,
	server *exec.Cmd, workspace string) {
	t.Helper()
	home := hosttest.TempDir(t)
	if isolated == "true" {
		clitest.SeedSandboxCache(t, home)
	}
	cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "mcp")
	cmd.Env = []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PICOCLAW_ISOLATION_ENABLED=" + isolated,
		"PATH=/usr/bin:/bin", clitest.AskRuleEnv, "PICOCLAW_APPROVALS_WAIT_SECONDS=0"}
	cmd.Stderr = os.Stderr
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	session, err := sdkmcp.NewClient(&sdkmcp.Implementation{Name: "test", Version: "1"}, options).
		Connect(ctx, &sdkmcp.CommandTransport{Command: cmd, TerminateDuration: 30 * time.Second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session, cmd, filepath.Join(home, "workspace")
}

func TestAgentWorksOverMCP(t *testing.T) {
	t.Parallel()
	for _, isolated := range []string{"false", "true"} {
		t.Run("isolated="+isolated, func(t *testing.T) {
			t.Parallel()
			client, server, workspace := connectTo(t, isolated, nil)
			if got := client.InitializeResult().Instructions; !strings.Contains(got, workspace) {
				t.Errorf("the instructions do not name the workspace: %q", got)
			}
			listed, err := client.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range listed.Tools {
				names = append(names, tool.Name)
				if tool.Name == "read_file" && !tool.Annotations.ReadOnlyHint {
					t.Error("read_file is not said to be read-only")
				}
			}
			for _, want := range []string{"read_file", "write_file", "list_dir", "edit_file", "append_file", "exec", "grep"} {
				if !slices.Contains(names, want) {
					t.Errorf("the tools are %v; %s is missing", names, want)
				}
			}
			if started := clitest.DescendantProcesses(server.Process.Pid); len(started) > 0 {
				t.Errorf("listing tools has started %v", started)
			}
			for _, step := range []struct {
				tool, want string
				args       map[string]any
				failed     bool
			}{
				{tool: "write_file", args: map[string]any{"path": "a", "content": "one\ntwo\n"}, want: "File written: a"},
				{tool: "read_file", args: map[string]any{"path": "a"}, want: "one\ntwo\n"},
				{tool: "grep", args: map[string]any{"pattern": "tw."}, want: filepath.Join(workspace, "a") +
					":2: two\n[1 match in 1 file, 1 file searched]"},
				{tool: "exec", args: map[string]any{"command": "wc -l < a"}, want: "2\n"},
				{tool: "read_file", args: map[string]any{"path": "/etc/passwd"}, failed: true,
					want: "access denied: path is outside the workspace\n(rule workspace.outside)\nhint: add \"^/etc/passwd$\" to tools.allow_read_paths"},
				{tool: "read_file", args: map[string]any{"pth": "a"}, failed: true,
					want: "unknown argument \"pth\"; did you mean \"path\"?\nhint: read_file takes encoding, end_line, length, offset, path, start_line"},
			} {
				result, err := client.CallTool(t.Context(), &sdkmcp.CallToolParams{Name: step.tool, Arguments: step.args})
				if err != nil {
					t.Errorf("%s: %v", step.tool, err)
					continue
				}
				if got := mcptest.ResultText(result); got != step.want || result.IsError != step.failed {
					t.Errorf("%s %v: %q (error %t); want %q", step.tool, step.args, got, result.IsError, step.want)
				}
			}
			if _, err := client.CallTool(t.Context(), &sdkmcp.CallToolParams{Name: "nope"}); err == nil {
				t.Error("a tool that does not exist can be called")
			}
		})
	}
}

// What a client cancels ends: the command is gone, and the server answers the next call.
func TestCancellingOverMCPEndsTheCommand(t *testing.T) {
	t.Parallel()
	client, workspace := bridgeToSocket(t, "false", nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := client.CallTool(ctx, &sdkmcp.CallToolParams{Name: "exec",
			Arguments: map[string]any{"command": "echo $$ > pid; exec sleep 305"}})
		ended <- err
	}()
	var pid []byte
	hosttest.WaitUntil(t, "the command has begun", func() bool {
		pid, _ = os.ReadFile(filepath.Join(workspace, "pid"))
		return len(pid) > 0
	})
	cancel()
	if err := <-ended; err == nil {
		t.Error("a cancelled call has succeeded")
	}
	hosttest.WaitUntil(t, "the command has ended", func() bool {
		out, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/cmdline")
		return err != nil || !strings.Contains(string(out), "305")
	})
	if _, err := client.CallTool(t.Context(), &sdkmcp.CallToolParams{Name: "list_dir"}); err != nil {
		t.Error(err)
	}
}

// What a long command prints reaches a client that has asked for progress.
func TestOutputStreamsAsProgress(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 16)
	client, _ := bridgeToSocket(t, "false", &sdkmcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *sdkmcp.ProgressNotificationClientRequest) {
			seen <- req.Params.Message
		},
	})
	params := &sdkmcp.CallToolParams{Name: "exec", Arguments: map[string]any{"command": "echo first; read x < fifo"}}
	params.SetProgressToken("token")
	if _, err := client.CallTool(t.Context(), &sdkmcp.CallToolParams{Name: "exec",
		Arguments: map[string]any{"command": "mkfifo fifo"}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _, _ = client.CallTool(ctx, params) }()
	select {
	case message := <-seen:
		if message != "first\n" {
			t.Errorf("the progress is %q", message)
		}
	case <-time.After(30 * time.Second):
		t.Error("no progress came while the command runs")
	}
}
