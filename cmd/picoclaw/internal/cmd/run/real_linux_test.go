//go:build long

package run_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// agentPackages are the programs of model makers that are really run, by npm package and version.
var agentPackages = []string{"@anthropic-ai/claude-code@2.1.330", "@openai/codex@0.171.0", "@google/gemini-cli@0.61.0",
	"opencode-ai@1.18.33"}

// agentPrograms installs the programs and returns their directory.
func agentPrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	cmd := exec.Command("npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"},
		agentPackages...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	// Its package links the program by a script, which is not run.
	for name, target := range map[string]string{
		"claude": "../node_modules/@anthropic-ai/claude-code-linux-x64/claude", "codex": "../node_modules/.bin/codex",
		"gemini": "../node_modules/.bin/gemini", "opencode": "../node_modules/opencode-linux-x64/bin/opencode",
	} {
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	return bin
}

// makersAPI plays the APIs of model makers over TLS: it has the model write a file and run a command, and then say done.
type makersAPI struct {
	authority []byte // certificate, as PEM
	port      string
	calls     []string // server-sent events: a tool call per request

	mu       sync.Mutex
	requests []string
	keys     []string
}

func newMakersAPI(t *testing.T, calls ...string) *makersAPI {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		DNSNames:  []string{"api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	a := &makersAPI{calls: calls, authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	server := httptest.NewUnstartedServer(a)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	if _, a.port, err = net.SplitHostPort(server.Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *makersAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	claude := strings.HasSuffix(r.URL.Path, "/messages")
	gemini := strings.HasSuffix(r.URL.Path, ":streamGenerateContent") && strings.Contains(string(body), `"functionDeclarations"`)
	if r.Method != http.MethodPost || !claude && !gemini && !strings.HasSuffix(r.URL.Path, "/responses") || claude && !strings.Contains(string(body), `"tools":[{`) {
		http.NotFound(w, r)
		return
	}
	a.mu.Lock()
	n := len(a.requests)
	a.requests, a.keys = append(a.requests, string(body)), append(a.keys, r.Header.Get("X-Api-Key")+r.Header.Get("X-Goog-Api-Key")+r.Header.Get("Authorization"))
	a.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind, data string) {
		_, _ = fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, data)
	}
	call := ""
	if n < len(a.calls) {
		call = a.calls[n]
	}
	if gemini {
		part := `{"text":"all done"}`
		if name, args, ok := strings.Cut(call, " "); ok {
			part = fmt.Sprintf(`{"functionCall":{"name":%q,"args":%s}}`, name, args)
		}
		_, _ = fmt.Fprintf(w, `data: {"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[%s]}}],`+
			`"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`+"\n\n", part)
		return
	}
	if claude {
		send("message_start", `"message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],`+
			`"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}`)
		stop := "end_turn"
		if call != "" {
			name, input, _ := strings.Cut(call, " ")
			stop = "tool_use"
			send("content_block_start", fmt.Sprintf(`"index":0,"content_block":{"type":"tool_use","id":"t%d","name":%q,"input":{}}`, n, name))
			send("content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"input_json_delta","partial_json":%s}`, quoted(input)))
		} else {
			send("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)
			send("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"all done"}`)
		}
		send("content_block_stop", `"index":0`)
		send("message_delta", `"delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":5}`)
		send("message_stop", `"x":0`)
		return
	}
	item := `{"type":"message","id":"m1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"all done","annotations":[]}]}`
	if call != "" {
		item = fmt.Sprintf(call, n, n)
	}
	send("response.created", `"response":{"id":"r","status":"in_progress"}`)
	send("response.output_item.done", `"output_index":0,"item":`+item)
	send("response.completed", `"response":{"id":"r","status":"completed","output":[`+item+`],"usage":{"input_tokens":10,`+
		`"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":15}}`)
}

// codexCall is a call of codex's tool that runs a script with its other tools.
func codexCall(script string) string {
	return `{"type":"custom_tool_call","id":"c%d","call_id":"c%d","name":"exec","namespace":"functions","status":"completed","input":` + quoted(script) + `}`
}

func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

// The makers' own programs complete a task with their own tools, with a key that they never see, and undo takes it back.
func TestRealAgentsCompleteTask(t *testing.T) {
	bin := agentPrograms(t)
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
			[]string{codexCall(`text(await tools.exec_command({cmd: "git push origin main"}))`), codexCall("await tools.apply_patch(`*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n`)"),
				codexCall(`text(await tools.exec_command({cmd: "echo shell > shell.txt"}))`)},
			[]string{"exec", "-c", `model_provider="fake"`, "-c", `model_providers.fake={name="fake",base_url="https://api.openai.com:PORT/v1",` +
				`env_key="CODEX_API_KEY",wire_api="responses",supports_websockets=false,request_max_retries=0,stream_max_retries=0}`, "write hello"}, "Bash"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			const key = "sk-ant-api03-the-real-key-the-real-key-the-real-key"
			for i := range c.calls {
				c.calls[i] = strings.ReplaceAll(c.calls[i], "PROJECT", p.dir)
			}
			api := newMakersAPI(t, c.calls...)
			for i := range c.args {
				c.args[i] = strings.ReplaceAll(c.args[i], "PORT", api.port)
			}
			host := map[string]string{"claude": "api.anthropic.com", "opencode": "api.anthropic.com", "codex": "api.openai.com", "gemini": "generativelanguage.googleapis.com"}[name]
			header := map[string]string{"claude": `"x-api-key", "value": "{{secret}}"`, "opencode": `"x-api-key", "value": "{{secret}}"`, "codex": `"Authorization", "value": "Bearer {{secret}}"`,
				"gemini": `"x-goog-api-key", "value": "{{secret}}"`}[name]
			config := fmt.Sprintf(`{"network": {"allow": ["%[1]s:%[2]s"], "hosts": {"%[1]s": ["127.0.0.1"]}}, "secrets": {"%[3]s": {"from": {"env": "%[3]s"},
				"hosts": ["%[1]s:%[2]s"], "as": {"header": %[4]s}}}, "isolation": {"enabled": true}}`, host, api.port, c.variable, header)
			roots := filepath.Join(filepath.Dir(p.dir), "roots.pem")
			for file, text := range map[string]string{filepath.Join(p.home, "config.json"): config, roots: string(api.authority)} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if name == "opencode" {
				writeHomeFile(t, p, bin, name, ".config/opencode/config.json",
					`{"provider": {"anthropic": {"options": {"baseURL": "https://api.anthropic.com:`+api.port+`/v1"}}}}`)
			}
			if name == "gemini" { // another base means another way to sign in, unless its settings name one
				writeHomeFile(t, p, bin, name, ".gemini/settings.json", `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`)
			}
			cmd := p.picoclaw(append([]string{"run", "--env", fmt.Sprintf(c.base, api.port), "--", name}, c.args...)...)
			cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"), "SSL_CERT_FILE="+roots, c.variable+"="+key)
			impatient := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
			defer impatient.Stop()
			out := cmd.mustRun(t)
			if !strings.Contains(out, "all done") || p.read("hello.txt") == "" || strings.TrimSpace(p.read("shell.txt")) != "shell" {
				t.Errorf("%s\nhello.txt: %s\nshell.txt: %s\n%s", out, p.read("hello.txt"), p.read("shell.txt"), strings.Join(api.requests, "\n"))
			}
			if len(api.keys) == 0 || !strings.Contains(api.keys[0], key) || strings.Contains(strings.Join(api.requests, ""), key) {
				t.Errorf("the API got the keys %q", api.keys)
			}
			if !strings.Contains(strings.Join(api.requests, ""), "[exec.git-push]") {
				t.Errorf("the hook's refusal did not reach the model:\n%s", strings.Join(api.requests, "\n"))
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
