package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// An answer's words travel once, whichever vocabulary the agent has, and whatever its client reads: the text alone says
// everything, so that a client from before structured results misses nothing.
func TestLongResultsAreSentOnce(t *testing.T) {
	t.Parallel()
	for _, step := range []struct{ set, protocol, tool, arguments, said string }{
		{"picoclaw", "2025-06-18", "read_file", `{"path":"a"}`, "unmistakable"},
		{"picoclaw", "2025-06-18", "grep", `{"pattern":"unmis"}`, "unmistakable"},
		{"picoclaw", "2025-06-18", "find", `{"pattern":"long_nam*"}`, "long_name"},
		{"picoclaw", "2025-06-18", "exec", `{"command":"cat a"}`, "unmistakable"},
		{"module", "2025-06-18", "read", `{"path":"a"}`, "unmistakable"},
		{"module", "2025-06-18", "ls", `{}`, "long_name"},
		{"module", "2025-06-18", "edit", `{"path":"a","old_string":"line","new_string":"LINE"}`, "unmistakable"},
		{"module", "2024-11-05", "file_stat", `{"path":"long_name"}`, "created"},
	} {
		t.Run(step.tool, func(t *testing.T) {
			home := hosttest.TempDir(t)
			workspace := filepath.Join(home, "workspace")
			if err := os.Mkdir(workspace, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, content := range map[string]string{"a": "an unmistakable line\n", "long_name": ""} {
				if err := os.WriteFile(filepath.Join(workspace, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			call := fmt.Sprintf(`{"name":%q,"arguments":%s}`, step.tool, step.arguments)
			answer := overMCP(t, home, step.set, step.protocol, call)
			if n := strings.Count(answer, step.said); n != 1 {
				t.Errorf("%q comes %d times: %s", step.said, n, answer)
			}
			var result struct {
				Result struct {
					Content []struct{ Text string }
					IsError bool
				}
			}
			if err := json.Unmarshal([]byte(answer), &result); err != nil || result.Result.IsError {
				t.Fatalf("%v: %s", err, answer)
			}
			if r := result.Result; len(r.Content) != 1 || !strings.Contains(r.Content[0].Text, step.said) {
				t.Errorf("the text is %q; it has no %q", r.Content, step.said)
			}
		})
	}
}

// overMCP starts a server, makes one call by hand, and returns the line that answers it.
func overMCP(t *testing.T, home, set, protocol, call string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), hosttest.ProgramPath("bin/picoclaw"), "mcp")
	cmd.Env = []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PICOCLAW_TOOLS_SET=" + set, "PATH=/usr/bin:/bin"}
	cmd.Stderr = os.Stderr
	in, out := io.Pipe()
	cmd.Stdin = in
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	var last string
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + protocol +
			`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":` + call + `}`,
	} {
		if _, err := io.WriteString(out, message+"\n"); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(message, `"id"`) {
			if last, err = lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := out.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	return last
}

// What a script has asked is answered, although its end is read before the answers are made.
func TestScriptGetsAllAnswers(t *testing.T) {
	t.Parallel()
	home := hosttest.TempDir(t)
	for range 4 {
		cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "mcp")
		cmd.Env = []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PATH=/usr/bin:/bin"}
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"exec","arguments":{"command":"echo $((6*7)) answers"}}}
{"jsonrpc":"2.0","id":3,"method":"ping"}
`)
		out, err := cmd.Output()
		if err != nil || strings.Count(string(out), "\n") != 3 || !strings.Contains(string(out), "42 answers") {
			t.Fatalf("the answers are %s (%v)", out, err)
		}
	}
}
