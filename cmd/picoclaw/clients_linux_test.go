package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/pidfile"
)

// These tests work with picoclaw through clients that were not written for it: the official TypeScript SDK and the MCP
// Inspector, on a Node.js of their own. .ci/install puts them all below bin/clients.

// strangers returns the directory of the clients and their Node.js.
func strangers(t *testing.T) (dir, node string) {
	t.Helper()
	if secondRun() {
		t.Skip("this is the second run; the clients need not be where an unprivileged user can read them")
	}
	dir, err := filepath.Abs("../../bin/clients")
	if err != nil {
		t.Fatal(err)
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	node = filepath.Join(dir, "node_modules/node-linux-"+arch+"/bin/node")
	if _, err := os.Stat(node); err != nil {
		t.Fatalf("%v; install what the tests need with `.ci/install tests`", err)
	}
	return dir, node
}

// secondRun reports whether this is the run of these tests as an unprivileged user, who may not read the sources.
func secondRun() bool {
	exe, err := os.Executable()
	return err != nil || filepath.Dir(exe) == hosttest.Dir()
}

// instance is a picoclaw for one test: where it is and what it finds in its environment.
type instance struct {
	home, workspace string
	program         string // that is started
}

func newInstance(t *testing.T) instance {
	t.Helper()
	home := hosttest.TempDir(t)
	workspace := filepath.Join(home, "workspace")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	return instance{home, workspace, hosttest.Program("bin/picoclaw")}
}

func (i instance) env() map[string]string {
	rules, rule, _ := strings.Cut(askFirst, "=")
	return map[string]string{"HOME": i.home, "PICOCLAW_HOME": i.home, "PICOCLAW_ISOLATION_ENABLED": "false",
		"PATH": "/usr/bin:/bin", rules: rule}
}

func (i instance) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	for name, value := range i.env() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// serve starts `picoclaw mcp --http` and returns where it is, and its token.
func (i instance) serve(t *testing.T, args ...string) (server *exec.Cmd, url, token string) {
	t.Helper()
	server = i.command(hosttest.Program("bin/picoclaw"), append([]string{"mcp", "--http", "127.0.0.1:0"}, args...)...)
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	// Its plugins end with it only if it ends in order; what they have open can't be removed before.
	t.Cleanup(func() { _ = server.Process.Signal(syscall.SIGTERM); _ = server.Wait() })
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "serving MCP at ") {
		t.Fatalf("the server says %q, %v", line, err)
	}
	running, err := pidfile.ReadPidFileWithCheck(i.home)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(i.home, "mcp-token"))
	if err != nil && len(args) == 0 {
		t.Fatal(err)
	}
	return server, running.Address, strings.TrimSpace(string(text))
}

// stop tells a server to stop, and checks that it does so in order.
func stop(t *testing.T, server *exec.Cmd) {
	t.Helper()
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("told to stop, the server has ended with %v", err)
	}
}

func TestTheOfficialTypeScriptSDK(t *testing.T) {
	dir, node := strangers(t)
	script, err := os.ReadFile("testdata/clients/sdk.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for _, over := range []string{"stdio", "http"} {
		t.Run(over, func(t *testing.T) {
			in := newInstance(t)
			around := map[string]any{"program": hosttest.Program("bin/picoclaw"), "workspace": in.workspace, "env": in.env()}
			var server *exec.Cmd
			if over == "http" {
				server, around["url"], around["token"] = in.serve(t)
			}
			argument, err := json.Marshal(around)
			if err != nil {
				t.Fatal(err)
			}
			client := in.command(node, "--input-type=module", "-", string(argument))
			client.Dir, client.Stdin = dir, bytes.NewReader(script) // there its imports are found
			out, err := client.CombinedOutput()
			t.Logf("%s", out)
			if err != nil || !bytes.Contains(out, []byte("ok: what is too large")) {
				t.Error("the client has failed: ", err)
			}
			if server != nil {
				stop(t, server)
			}
		})
	}
}

func TestTheMCPInspector(t *testing.T) {
	dir, node := strangers(t)
	inspector := filepath.Join(dir, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	for _, over := range []string{"stdio", "http"} {
		t.Run(over, func(t *testing.T) {
			in := newInstance(t)
			target := []string{hosttest.Program("bin/picoclaw"), "mcp", "-e", "PICOCLAW_HOME=" + in.home, "-e",
				"PICOCLAW_ISOLATION_ENABLED=false"}
			if over == "http" {
				_, url, token := in.serve(t)
				target = []string{url, "--transport", "http", "--header", "Authorization: Bearer " + token}
			}
			inspect := func(args ...string) string {
				t.Helper()
				cmd := in.command(node, append(append([]string{inspector, "--cli"}, target...), args...)...)
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
