//go:build long

package run_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest/makertest"
)

// The makers' own programs complete a task with their own tools, with a key that they never see, and undo takes it back.
func TestRealAgentsCompleteTask(t *testing.T) {
	bin := makertest.InstallPrograms(t)
	for name, c := range map[string]struct {
		variable, base string
		calls          []string
		args           []string
		shell          string // the name of its tool for commands
	}{
		"claude": {"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL=https://api.anthropic.com:%s",
			[]string{`Bash {"command":"git push origin main","description":"push"}`, `Write {"file_path":"PROJECT/hello.txt","content":"hello"}`, `Bash {"command":"echo shell > shell.txt","description":"write"}`},
			[]string{"-p", "write hello", "--permission-mode", "acceptEdits", "--allowedTools", "Bash", "Write"}, "Bash"},
		"gemini": {"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL=https://generativelanguage.googleapis.com:%s",
			[]string{`run_shell_command {"command":"git push origin main"}`, `write_file {"file_path":"PROJECT/hello.txt","content":"hello"}`,
				`run_shell_command {"command":"echo shell > shell.txt"}`},
			[]string{"-p", "write hello", "--yolo", "-m", "gemini-2.5-pro"}, "run_shell_command"},
		"opencode": {"ANTHROPIC_API_KEY", "OPENCODE_DISABLE_MODELS_FETCH=%s",
			[]string{`bash {"command":"git push origin main","description":"push"}`, `write {"filePath":"PROJECT/hello.txt","content":"hello"}`,
				`bash {"command":"echo shell > shell.txt","description":"write"}`},
			[]string{"run", "-m", "anthropic/claude-sonnet-4-5", "write hello"}, "bash"},
		"codex": {"CODEX_API_KEY", "UNUSED=%s",
			[]string{makertest.CodexCall(`text(await tools.exec_command({cmd: "git push origin main"}))`), makertest.CodexCall("await tools.apply_patch(`*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n`)"),
				makertest.CodexCall(`text(await tools.exec_command({cmd: "echo shell > shell.txt"}))`)},
			[]string{"exec", "-c", `model_provider="fake"`, "-c", `model_providers.fake={name="fake",base_url="https://api.openai.com:PORT/v1",` +
				`env_key="CODEX_API_KEY",wire_api="responses",supports_websockets=false,request_max_retries=0,stream_max_retries=0}`, "write hello"}, "Bash"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			const key = "sk-ant-api03-the-real-key-the-real-key-the-real-key"
			for i := range c.calls {
				c.calls[i] = strings.ReplaceAll(c.calls[i], "PROJECT", p.dir)
			}
			api := makertest.NewAPI(t, c.calls...)
			for i := range c.args {
				c.args[i] = strings.ReplaceAll(c.args[i], "PORT", api.Port)
			}
			host := map[string]string{"claude": "api.anthropic.com", "opencode": "api.anthropic.com", "codex": "api.openai.com", "gemini": "generativelanguage.googleapis.com"}[name]
			header := map[string]string{"claude": `"x-api-key", "value": "{{secret}}"`, "opencode": `"x-api-key", "value": "{{secret}}"`, "codex": `"Authorization", "value": "Bearer {{secret}}"`,
				"gemini": `"x-goog-api-key", "value": "{{secret}}"`}[name]
			config := fmt.Sprintf(`{"network": {"allow": ["%[1]s:%[2]s"], "hosts": {"%[1]s": ["127.0.0.1"]}}, "secrets": {"%[3]s": {"from": {"env": "%[3]s"},
				"hosts": ["%[1]s:%[2]s"], "as": {"header": %[4]s}}}, "isolation": {"enabled": true}}`, host, api.Port, c.variable, header)
			roots := filepath.Join(filepath.Dir(p.dir), "roots.pem")
			for file, text := range map[string]string{filepath.Join(p.home, "config.json"): config, roots: string(api.Authority)} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if name == "opencode" {
				writeHomeFile(t, p, bin, name, ".config/opencode/config.json",
					`{"provider": {"anthropic": {"options": {"baseURL": "https://api.anthropic.com:`+api.Port+`/v1"}}}}`)
			}
			if name == "gemini" { // another base means another way to sign in, unless its settings name one
				writeHomeFile(t, p, bin, name, ".gemini/settings.json", `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`)
			}
			cmd := p.picoclaw(append([]string{"run", "--env", fmt.Sprintf(c.base, api.Port), "--", name}, c.args...)...)
			cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"), "SSL_CERT_FILE="+roots, c.variable+"="+key)
			impatient := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
			defer impatient.Stop()
			out := cmd.mustRun(t)
			requests, keys := api.Requests()
			if !strings.Contains(out, "all done") || p.read("hello.txt") == "" || strings.TrimSpace(p.read("shell.txt")) != "shell" {
				t.Errorf("%s\nhello.txt: %s\nshell.txt: %s\n%s", out, p.read("hello.txt"), p.read("shell.txt"), strings.Join(requests, "\n"))
			}
			if len(keys) == 0 || !strings.Contains(keys[0], key) || strings.Contains(strings.Join(requests, ""), key) {
				t.Errorf("the API got the keys %q", keys)
			}
			if !strings.Contains(strings.Join(requests, ""), "[exec.git-push]") {
				t.Errorf("the hook's refusal did not reach the model:\n%s", strings.Join(requests, "\n"))
			}
			entries := p.picoclaw("audit", "--output", "json").mustRun(t)
			for _, want := range []string{`"tool":"` + name + "." + c.shell + `"`, "exec.git-push", "echo shell"} {
				if !strings.Contains(entries, want) {
					t.Errorf("the audit log lacks %s:\n%s", want, entries)
				}
			}
			p.picoclaw("undo", "--run").mustRun(t)
			for _, file := range []string{"hello.txt", "shell.txt"} {
				if !strings.Contains(p.read(file), "no such file") {
					t.Errorf("undo left %s", file)
				}
			}
		})
	}
}

// writeHomeFile writes to the home that a program has in the project, which a first run makes.
func writeHomeFile(t *testing.T, p *project, bin, program, name, text string) {
	t.Helper()
	cmd := p.picoclaw("run", "--", program, "--version")
	cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"), "GEMINI_API_KEY=no-key-for-this", "ANTHROPIC_API_KEY=no-key-for-this")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	homes, err := filepath.Glob(filepath.Join(p.home, "runtime-user-env", "run-"+program+"-*"))
	if err != nil || len(homes) != 1 {
		t.Fatalf("%v %v", homes, err)
	}
	if err := os.WriteFile(filepath.Join(homes[0], name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
