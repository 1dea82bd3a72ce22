//go:build long

package mcp_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

func TestTypeScriptSDKClient(t *testing.T) {
	t.Parallel()
	dir, node := clitest.FindNodeJSClients(t)
	script, err := os.ReadFile("testdata/sdk.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for _, over := range []string{"stdio", "http"} {
		t.Run(over, func(t *testing.T) {
			in := clitest.NewHome(t)
			around := map[string]any{"program": hosttest.ProgramPath("bin/picoclaw"), "workspace": in.Workspace, "env": in.Env()}
			var server *exec.Cmd
			if over == "http" {
				server, around["url"], around["token"] = in.StartMCPServer(t)
			}
			argument, err := json.Marshal(around)
			if err != nil {
				t.Fatal(err)
			}
			client := in.Command(node, "--input-type=module", "-", string(argument))
			client.Dir, client.Stdin = dir, bytes.NewReader(script) // there its imports are found
			out, err := client.CombinedOutput()
			t.Logf("%s", out)
			if err != nil || !bytes.Contains(out, []byte("ok: what is too large")) {
				t.Error("the client has failed: ", err)
			}
			if server != nil {
				clitest.StopServer(t, server)
			}
		})
	}
}

func TestMCPInspectorClient(t *testing.T) {
	t.Parallel()
	dir, node := clitest.FindNodeJSClients(t)
	inspector := filepath.Join(dir, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	for _, over := range []string{"stdio", "http"} {
		t.Run(over, func(t *testing.T) {
			in := clitest.NewHome(t)
			target := []string{hosttest.ProgramPath("bin/picoclaw"), "mcp", "-e", "PICOCLAW_HOME=" + in.Dir, "-e",
				"PICOCLAW_ISOLATION_ENABLED=false"}
			if over == "http" {
				_, url, token := in.StartMCPServer(t)
				target = []string{url, "--transport", "http", "--header", "Authorization: Bearer " + token}
			}
			inspect := func(args ...string) string {
				t.Helper()
				cmd := in.Command(node, append(append([]string{inspector, "--cli"}, target...), args...)...)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				out, err := cmd.Output()
				if err != nil && !bytes.Contains(out, []byte(`"isError": true`)) {
					t.Errorf("%v: %v\n%s%s", args, err, out, stderr.Bytes())
				}
				return string(out)
			}
			for _, step := range []struct {
				args []string
				want string
			}{
				{[]string{"--method", "tools/list", "--strict"}, `"name": "read_file"`},
				{[]string{"--method", "tools/call", "--tool-name", "write_file", "--tool-arg", "path=a", "content=hello"},
					`File written: a`},
				{[]string{"--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=a"}, `"text": "hello"`},
				{[]string{"--method", "tools/call", "--tool-name", "exec", "--tool-arg", "command=wc -c < a"}, `5\n`},
				{[]string{"--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=/etc/passwd"},
					`workspace.outside`},
			} {
				if got := inspect(step.args...); !strings.Contains(got, step.want) {
					t.Errorf("%v: the answer has no %s:\n%s", step.args, step.want, got)
				}
			}
		})
	}
}
