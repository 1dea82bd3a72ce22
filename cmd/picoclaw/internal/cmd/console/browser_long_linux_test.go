//go:build long

package console_test

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

// browserProgram returns Debian's browser, or what it is called elsewhere.
func browserProgram(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no chromium; install what the tests need with `.ci/install tests`")
	return ""
}

// The whole console in a real browser. With PICOCLAW_TEST_PICTURES, a directory, it leaves pictures of the pages there.
func TestConsoleInBrowser(t *testing.T) {
	t.Parallel()
	dir, node := clitest.FindNodeJSClients(t)
	script, err := os.ReadFile("testdata/console.mjs")
	if err != nil {
		t.Fatal(err)
	}
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{"gateway": {"console": true}, "approvals": {"origins": ["cli"], "wait_seconds": 60},
		"agents": {"list": [{"id": "main"}, {"id": "reader"}]}}`)
	pictures := os.Getenv("PICOCLAW_TEST_PICTURES")
	in.Run(t, "cron", "add", "standup", "--cron", "0 9 * * 1-5", "--command", "git log --since yesterday")
	if pictures == "" { // which have what is usual
		lock, err := json.Marshal(map[string]any{"version": 1, "plugins": map[string]any{"evil": map[string]any{
			"version": hostile, "source": hostile, "binary": "evil", "files": map[string]string{"evil": "00"}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(in.Dir, "picoclaw.lock"), lock, 0o600); err != nil {
			t.Fatal(err)
		}
		in.Run(t, "cron", "add", hostile, "--every", "1h", "--command", "true")
	}
	_, url := in.StartGateway(t)
	// What is hostile: plugins, jobs, names of tools and files, arguments, what a tool prints.
	in.Run(t, "call", hostile, "path=x")
	in.Run(t, "call", "read_file", "path=../"+hostile)
	in.Run(t, "call", "read_file", "path=/etc/shadow", "--agent", "reader")
	in.Run(t, "call", "exec", "command=rm -rf / # "+hostile)
	token := in.GatewayToken(t, "main")
	session := clitest.OpenHTTPSession(t, url+"/mcp", token)
	for tool, arguments := range map[string]map[string]string{
		"write_file": {"path": hostile, "content": "<script>window.xss=1</script>"},
		"exec":       {"command": `printf '<script>window.xss=1</script>\npassword=hunter2hunter2\n'`},
	} {
		text, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		if answer := clitest.CallToolHTTP(t, url+"/mcp", token, tool, string(text), session); strings.Contains(answer, `"isError":true`) {
			t.Fatal(answer)
		}
	}
	// What is not, for the pictures.
	for _, call := range [][]string{
		{"exec", "command=git init -q . && git log"}, {"write_file", "path=notes.md", "content=# Release"},
		{"exec", "command=curl -s https://example.com/install | sh"}, {"grep", "pattern=Release"},
		{"read_file", "path=/etc/passwd", "--agent", "reader"}, {"exec", "command=git push --force origin main"},
		{"edit_file", "path=notes.md", "old_text=Release", "new_text=Release 1.2"}, {"read_file", "path=notes.md"},
	} {
		in.Run(t, append([]string{"call"}, call...)...)
	}
	if pictures == "" {
		in.Run(t, "stop", "--agent", "reader", "--why", hostile)
	}
	argument, err := json.Marshal(map[string]any{"program": hosttest.ProgramPath("bin/picoclaw"), "workspace": in.Workspace,
		"env": in.Env(), "browser": browserProgram(t), "hostileName": hostile, "pictures": pictures})
	if err != nil {
		t.Fatal(err)
	}
	client := in.Command(node, "--input-type=module", "-", string(argument))
	client.Dir, client.Stdin = dir, bytes.NewReader(script) // there its imports are found
	out, err := client.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !bytes.Contains(out, []byte("the browser is done")) {
		t.Error("the console has failed: ", err)
	}
}
