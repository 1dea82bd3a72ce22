package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/cli"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
)

// The packages that are really started.
const (
	claudePackage = "@anthropic-ai/claude-code@2.1.330"
	codexPackage  = "@openai/codex@0.169.0"
)

func TestMain(m *testing.M) {
	os.Exit(hosttest.RunTestsWithPrograms(m, map[string]string{
		"picoclaw":                      "../../../cmd/picoclaw",
		"plugins/filesystem/filesystem": "../../../plugins/filesystem",
	}, func(dir string) error {
		plugin := filepath.Join(dir, "plugins", "filesystem")
		out, err := exec.Command(filepath.Join(plugin, "filesystem"), "describe").Output()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(plugin, "plugin.json"), out, 0o644); err != nil || testing.Short() {
			return err
		}
		// They are linked by scripts of theirs, which are not run.
		cmd := exec.Command("npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error",
			claudePackage, codexPackage)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("npm install: %w\n%s", err, out)
		}
		return nil
	}))
}

// program is where npm has put a program.
func program(t *testing.T, maker cli.ProgramVendor) string {
	t.Helper()
	if testing.Short() {
		t.Skip("this fetches packages from npm's registry; `.ci/long full` does")
	}
	if maker == cli.CodexVendor {
		return filepath.Join(hosttest.ProgramDir(), "node_modules", ".bin", "codex")
	}
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	return filepath.Join(hosttest.ProgramDir(), "node_modules", "@anthropic-ai", "claude-code-linux-"+arch, "claude")
}

// api plays the APIs of both makers: it has the model list the workspace first, and then say hello.
type api struct {
	*httptest.Server

	mu       sync.Mutex
	requests []string
	keys     []string
}

func newAPI(t *testing.T) *api {
	a := &api{}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	claude := strings.HasSuffix(r.URL.Path, "/messages")
	if r.Method != http.MethodPost || !claude && !strings.HasSuffix(r.URL.Path, "/responses") {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	a.requests = append(a.requests, string(body))
	a.keys = append(a.keys, r.Header.Get("X-Api-Key")+r.Header.Get("Authorization"))
	again := len(a.requests) > 1
	a.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind, data string) {
		_, _ = fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, data)
	}
	if claude {
		send("message_start", `"message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],`+
			`"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}`)
		stop := "tool_use"
		if again {
			stop = "end_turn"
			send("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)
			send("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"hel"}`)
			send("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"lo"}`)
		} else {
			send("content_block_start", `"index":0,"content_block":{"type":"tool_use","id":"t1","name":"mcp__picoclaw__list_dir","input":{}}`)
			send("content_block_delta", `"index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\".\"}"}`)
		}
		send("content_block_stop", `"index":0`)
		send("message_delta", `"delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":5}`)
		send("message_stop", `"x":0`)
		return
	}
	item := `{"type":"function_call","id":"f1","call_id":"c1","namespace":"mcp__picoclaw","name":"list_dir",` +
		`"arguments":"{\"path\":\".\"}","status":"completed"}`
	if again {
		item = `{"type":"message","id":"m1","role":"assistant","status":"completed",` +
			`"content":[{"type":"output_text","text":"hello","annotations":[]}]}`
	}
	send("response.created", `"response":{"id":"r","status":"in_progress"}`)
	send("response.output_item.done", `"output_index":0,"item":`+item)
	send("response.completed", `"response":{"id":"r","status":"completed","output":[`+item+`],"usage":{"input_tokens":10,`+
		`"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":0},`+
		`"total_tokens":15}}`)
}

// home is an instance root with a file in its workspace, whose server lists it.
func home(t *testing.T) (dir string, server []string) {
	t.Helper()
	dir = hosttest.TempDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "workspace"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "workspace", "secret.txt"), []byte("what is in the file"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"/usr/bin/env", "HOME=" + dir, "PICOCLAW_HOME=" + dir, hosttest.ProgramPath("picoclaw"), "mcp"}
}

// The real programs, with what we tell them, have picoclaw's tools and no others, call them, and read no file by
// themselves that a prompt mentions.
func TestRealPrograms(t *testing.T) {
	for _, maker := range []cli.ProgramVendor{cli.ClaudeVendor, cli.CodexVendor} {
		t.Run(string(maker), func(t *testing.T) {
			command, api := program(t, maker), newAPI(t)
			dir, server := home(t)
			s := &starting{}
			base := api.URL
			if maker == cli.CodexVendor {
				base += "/v1"
			}
			own := hosttest.TempDir(t) // a home of its own, as a session gives it
			c, err := cli.New(cli.Options{
				Vendor: maker, BaseURL: base, Command: []string{command}, Key: "key-1234567", Start: s.homed(own), Server: server,
			})
			if err != nil {
				t.Fatal(err)
			}
			var h heard
			reply, err := c.Generate(t.Context(), h.request(agent.ModelRequest{
				System: "You are picoclaw's \"agent\".\nBe brief.",
				Messages: []agent.Message{
					{Role: agent.User, Text: "/compact what is in @" + dir + "/workspace/secret.txt?"}},
				Remaining: agent.RemainingBudget{Iterations: 5, CostUSD: 1},
			}), h.onText)
			if err != nil {
				t.Fatal(err)
			}
			if reply.Message.Text != "hello" || h.text.String() != "hello" || reply.Usage.Calls != 1 || reply.Usage.Output != 10 {
				t.Errorf("got %+v and %q", reply, h.text.String())
			}
			if len(h.events) != 2 || !strings.Contains(h.events[1], "secret.txt") {
				t.Errorf("the calls were %q", h.events)
			}
			all := strings.Join(api.requests, "\n")
			if strings.Contains(all, "what is in the file") {
				t.Error("it has read a file by itself")
			}
			if !strings.Contains(api.requests[0], `You are picoclaw's \"agent\".\nBe brief.`) {
				t.Error("it was not told the system prompt")
			}
			if !strings.Contains(api.keys[0], "key-1234567") {
				t.Errorf("the keys were %q", api.keys)
			}
			checkTools(t, maker, api.requests[0])
		})
	}
}

// checkTools looks at the tools that a program tells the model of.
func checkTools(t *testing.T, maker cli.ProgramVendor, request string) {
	t.Helper()
	var r struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal([]byte(request), &r); err != nil {
		t.Fatal(err)
	}
	for _, tool := range r.Tools {
		if maker == cli.ClaudeVendor && !strings.HasPrefix(tool.Name, "mcp__picoclaw__") {
			t.Errorf("claude has the tool %s", tool.Name)
		}
	}
	if maker == cli.ClaudeVendor {
		return
	}
	// Codex has no switch for these: its patches, which change nothing here and end it, and what tells of servers.
	var nested []string
	for _, m := range regexp.MustCompile(`declare const tools: \{ (\w+)\(`).FindAllStringSubmatch(request, -1) {
		nested = append(nested, m[1])
	}
	slices.Sort(nested)
	want := []string{"apply_patch", "clock__curr_time", "list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource"}
	if diff := cmp.Diff(want, slices.Compact(nested)); diff != "" {
		t.Errorf("codex's own tools: %s", diff)
	}
}

// In a sandbox the programs start, with nothing of the workspace and of the network but their API, which is not there.
func TestRealProgramsInSandbox(t *testing.T) {
	for _, maker := range []cli.ProgramVendor{cli.ClaudeVendor, cli.CodexVendor} {
		t.Run(string(maker), func(t *testing.T) {
			command := program(t, maker)
			dir, server := home(t)
			if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"isolation": {"enabled": true}, "secrets": {
				"ANTHROPIC_API_KEY": {"from": {"file": "~/key"}, "hosts": ["api.example.invalid"]},
				"OPENAI_API_KEY": {"from": {"file": "~/key"}, "hosts": ["api.example.invalid"]}}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "key"), []byte("key-1234567"), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := config.Load(config.LoadOptions{Environ: []string{"HOME=" + dir, "PICOCLAW_HOME=" + dir}})
			if err != nil {
				t.Fatal(err)
			}
			h, err := session.OpenHost(session.HostOptions{Config: cfg, PluginDir: filepath.Join(hosttest.ProgramDir(), "plugins")})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = h.Close(t.Context()) }()
			sess, err := h.OpenSession("", session.Main)
			if err != nil {
				t.Fatal(err)
			}
			server[1], server[2] = "HOME=/tmp", "PICOCLAW_HOME=/tmp/home" // its own, since the session's is not seen
			c, err := cli.New(cli.Options{
				Vendor: maker, BaseURL: "https://api.example.invalid/v1", Command: []string{command}, Sandboxed: true,
				Secret: map[cli.ProgramVendor]string{cli.ClaudeVendor: "ANTHROPIC_API_KEY", cli.CodexVendor: "OPENAI_API_KEY"}[maker],
				Start:  sess.StartConfinedProgram, Server: server, Paths: []string{hosttest.ProgramPath("picoclaw"), filepath.Join(hosttest.ProgramDir(), "plugins")},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			_, err = c.Generate(ctx, (&heard{}).request(agent.ModelRequest{}), nil)
			t.Log(err)
			if err == nil || !strings.Contains(err.Error(), "has not answered") || strings.Contains(err.Error(), "without an answer") {
				t.Errorf("got %v", err)
			}
		})
	}
}
