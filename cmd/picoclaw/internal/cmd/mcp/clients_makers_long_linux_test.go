//go:build long

package mcp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest/makertest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// makerClient is a model maker's program as an MCP client. Each text may contain @PORT@ of the fake API, and
// @SERVER@ for the server's settings.
type makerClient struct {
	env   []string
	files map[string]string // in its home
	stdio string            // the server's settings with @PROGRAM@ and its home @STATE@
	http  string            // those with @URL@ and @TOKEN@
	call  string            // a model's call of the tool read_file
	args  []string
}

var makerClients = map[string]makerClient{
	"claude": {
		env:   []string{"ANTHROPIC_API_KEY=sk-ant-api03-none", "ANTHROPIC_BASE_URL=http://127.0.0.1:@PORT@"},
		files: map[string]string{"mcp.json": `{"mcpServers": {"picoclaw": @SERVER@}}`},
		stdio: `{"command": "@PROGRAM@", "args": ["mcp"], "env": {"PICOCLAW_HOME": "@STATE@"}}`,
		http:  `{"type": "http", "url": "@URL@", "headers": {"Authorization": "Bearer @TOKEN@"}}`,
		call:  `mcp__picoclaw__read_file {"path":"note.txt"}`,
		args:  []string{"-p", "read the note", "--mcp-config", "mcp.json", "--strict-mcp-config", "--allowedTools", "mcp__picoclaw__read_file"},
	},
	"gemini": {
		env: []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:@PORT@"},
		files: map[string]string{".gemini/settings.json": `{"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
			"mcpServers": {"picoclaw": @SERVER@}}`},
		stdio: `{"command": "@PROGRAM@", "args": ["mcp"], "env": {"PICOCLAW_HOME": "@STATE@"}, "trust": true}`,
		http:  `{"httpUrl": "@URL@", "headers": {"Authorization": "Bearer @TOKEN@"}, "trust": true}`,
		call:  `mcp_picoclaw_read_file {"path":"note.txt"}`,
		args:  []string{"-p", "read the note", "--yolo", "-m", "gemini-2.5-pro"},
	},
	"opencode": {
		env: []string{"ANTHROPIC_API_KEY=none", "OPENCODE_DISABLE_MODELS_FETCH=1"},
		files: map[string]string{".config/opencode/config.json": `{"provider": {"anthropic": {"options": {"baseURL": "http://127.0.0.1:@PORT@/v1"}}},
			"mcp": {"picoclaw": @SERVER@}}`},
		stdio: `{"type": "local", "command": ["@PROGRAM@", "mcp"], "environment": {"PICOCLAW_HOME": "@STATE@"}}`,
		http:  `{"type": "remote", "url": "@URL@", "oauth": false, "headers": {"Authorization": "Bearer @TOKEN@"}}`,
		call:  `picoclaw_read_file {"path":"note.txt"}`,
		args:  []string{"run", "-m", "anthropic/claude-sonnet-4-5", "read the note"},
	},
	"codex": {
		env: []string{"CODEX_API_KEY=none", "MCP_TOKEN=@TOKEN@"},
		files: map[string]string{".codex/config.toml": "model_provider = \"fake\"\n[model_providers.fake]\nname = \"fake\"\n" +
			"base_url = \"http://127.0.0.1:@PORT@/v1\"\nenv_key = \"CODEX_API_KEY\"\nwire_api = \"responses\"\nsupports_websockets = false\n" +
			"request_max_retries = 0\nstream_max_retries = 0\n[mcp_servers.picoclaw]\nrequired = true\ndefault_tools_approval_mode = \"approve\"\n@SERVER@"},
		stdio: "command = \"@PROGRAM@\"\nargs = [\"mcp\"]\n[mcp_servers.picoclaw.env]\nPICOCLAW_HOME = \"@STATE@\"\n",
		http:  "url = \"@URL@\"\nbearer_token_env_var = \"MCP_TOKEN\"\n",
		call:  makertest.CodexCall(`text(JSON.stringify(await tools.mcp__picoclaw__read_file({path: "note.txt"})))`),
		args:  []string{"exec", "--skip-git-repo-check", "--sandbox", "read-only", "read the note"},
	},
}

// The programs of model makers list the tools over both transports, and a model's call reaches picoclaw.
func TestMakersClientsCallTools(t *testing.T) {
	bin := makertest.InstallPrograms(t)
	for name, c := range makerClients {
		for _, over := range []string{"stdio", "http"} {
			t.Run(name+"/"+over, func(t *testing.T) {
				in := clitest.NewHome(t)
				note := "the note of " + name
				if err := os.WriteFile(filepath.Join(in.Workspace, "note.txt"), []byte(note), 0o600); err != nil {
					t.Fatal(err)
				}
				api := makertest.NewPlainAPI(t, c.call)
				values := []string{"@PROGRAM@", hosttest.ProgramPath("bin/picoclaw"), "@STATE@", in.Dir, "@PORT@", api.Port}
				settings := c.stdio
				if over == "http" {
					_, url, token := in.StartMCPServer(t)
					settings, values = c.http, append(values, "@URL@", url, "@TOKEN@", token)
				}
				fill := func(text string) string {
					return strings.NewReplacer(values...).Replace(strings.Replace(text, "@SERVER@", settings, 1))
				}
				home := hosttest.TempDir(t)
				for path, text := range c.files {
					path = filepath.Join(home, path)
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(fill(text)), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.CommandContext(t.Context(), filepath.Join(bin, name), c.args...)
				cmd.Dir, cmd.WaitDelay = home, time.Second
				cmd.Env = []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TERM=dumb"}
				for _, variable := range c.env {
					cmd.Env = append(cmd.Env, fill(variable))
				}
				impatient := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
				defer impatient.Stop()
				out, err := cmd.CombinedOutput()
				bodies, _ := api.Requests()
				if err != nil || !strings.Contains(string(out), "all done") {
					t.Errorf("%v\n%s\n%s", err, out, shorten(bodies))
				}
				if got := slices.IndexFunc(bodies, func(b string) bool { return strings.Contains(b, note) }); got < 1 {
					t.Errorf("the result did not reach the model:\n%s\n%s", out, shorten(bodies))
				}
				entries, err := in.Command(hosttest.ProgramPath("bin/picoclaw"), "audit", "--output", "json").Output()
				if err != nil || !strings.Contains(string(entries), `"tool":"filesystem.read_file"`) {
					t.Errorf("the audit log lacks the call: %v %s", err, entries)
				}
			})
		}
	}
}

// shorten returns the ends of requests, which are long.
func shorten(bodies []string) string {
	var b strings.Builder
	for _, body := range bodies {
		fmt.Fprintf(&b, "… %s\n", body[max(0, len(body)-1500):])
	}
	return b.String()
}
