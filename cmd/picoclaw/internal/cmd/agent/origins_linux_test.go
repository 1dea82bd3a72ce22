package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/agent/modeltest"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/schedule"
)

// records are all that the record has.
func records(i clitest.Home, t *testing.T) (all []audit.Record) {
	t.Helper()
	if _, err := audit.ReadLog(filepath.Join(i.Dir, "logs", "audit.jsonl"), func(r audit.Record) error {
		all = append(all, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// forbidden are what no agent with the default policy may do, and the rules that say so.
var forbidden = []struct{ tool, arguments string }{
	{"read_file", `{"path":"/etc/shadow"}`},
	{"write_file", `{"path":"../outside","content":"x"}`},
	{"exec", `{"command":"sudo id"}`},
}

// cliProvider has the instance's agents ask a program that plays Claude Code, which calls what is forbidden.
func cliProvider(i clitest.Home, t *testing.T) {
	t.Helper()
	program, err := os.ReadFile(filepath.Join("testdata", "claude.py"))
	if err != nil {
		t.Fatal(err)
	}
	dir := hosttest.TempDir(t)
	var calls []map[string]any
	for _, c := range forbidden {
		calls = append(calls, map[string]any{"name": c.tool, "arguments": json.RawMessage(c.arguments)})
	}
	text, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"node_modules/claude": program, "node_modules/calls.json": text} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	i.WriteConfig(t, fmt.Sprintf(`{"model_list": [{"model_name": "played", "model": "claude-cli/claude-cli", "command": [%q]}]}`,
		filepath.Join(dir, "node_modules", "claude")))
}

// The same read, write and command are refused by the same rules, whoever it is that asks.
func TestEveryOriginObeysPolicy(t *testing.T) {
	t.Parallel()
	var script []modeltest.ScriptedReply
	for _, c := range forbidden {
		script = append(script, clitest.NewToolCallReply(c.tool, c.arguments))
	}
	script = append(script, modeltest.ScriptedReply{Text: "done"})
	task := func(tool string) []modeltest.ScriptedReply {
		return append(append([]modeltest.ScriptedReply{clitest.NewToolCallReply(tool, `{"task":"do it","agent_id":"other"}`)}, script...),
			modeltest.ScriptedReply{Text: "all done"})
	}
	subagent := append(append([]modeltest.ScriptedReply{clitest.NewToolCallReply("subagent", `{"task":"do it"}`)}, script...), modeltest.ScriptedReply{Text: "all done"})
	once := func(t *testing.T, in clitest.Home) {
		if out, code := in.Run(t, "agent", "-m", "do it"); code != 0 {
			t.Fatal(out)
		}
	}
	untilRefused := func(t *testing.T, in clitest.Home, origin string) {
		server, _ := in.StartGateway(t)
		hosttest.WaitUntil(t, "the schedule has run", func() bool {
			refused := 0
			for _, r := range records(in, t) {
				if r.Origin == origin && r.Decision == "deny" {
					refused++
				}
			}
			return refused >= len(forbidden)
		})
		clitest.StopServer(t, server)
	}
	rules := map[string]string{} // by the tool
	for _, c := range []struct {
		name          string
		origin, agent string
		script        []modeltest.ScriptedReply
		besides       string
		run           func(t *testing.T, in clitest.Home)
	}{
		{"agent", "main", "main", script, "", once},
		{"subagent", "subagent", "main", subagent, "", once},
		{"delegate", "subagent", "other", task("delegate"),
			`, "agents": {"list": [{"id": "main", "subagents": {"allow_agents": ["other"]}}, {"id": "other"}]}`, once},
		{"heartbeat", "heartbeat", "main", script, "", func(t *testing.T, in clitest.Home) {
			store := schedule.OpenStore(in.Dir, "main")
			if err := os.MkdirAll(filepath.Dir(store.HeartbeatPath()), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(store.HeartbeatPath(), []byte("do it\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			untilRefused(t, in, "heartbeat")
		}},
		{"cron", "cron", "main", script, `, "heartbeat": {"enabled": false}`, func(t *testing.T, in clitest.Home) {
			if out, code := in.Run(t, "cron", "add", "job", "--in", "1s", "--message", "do it"); code != 0 {
				t.Fatal(out)
			}
			untilRefused(t, in, "cron")
		}},
		{"MCP", "mcp", "main", nil, "", func(t *testing.T, in clitest.Home) {
			server, url := in.StartGateway(t)
			token := in.GatewayToken(t, "main")
			session := clitest.OpenHTTPSession(t, url+"/mcp", token)
			for _, f := range forbidden {
				if answer := clitest.CallToolHTTP(t, url+"/mcp", token, f.tool, f.arguments, session); !strings.Contains(answer, `"isError":true`) {
					t.Errorf("%s: %s", f.tool, answer)
				}
			}
			clitest.StopServer(t, server)
		}},
		{"CLI provider", "main", "main", nil, "", func(t *testing.T, in clitest.Home) {
			cliProvider(in, t)
			once(t, in)
		}},
		// A hook that changes what was allowed into what is not.
		{"hook", "cli", "main", nil, `, "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": ` +
			`"printf '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"updatedInput\":%s}}' \"$(cat change)\""}]}]}`,
			func(t *testing.T, in clitest.Home) {
				harmless := map[string]string{"read_file": `{"path":"change"}`, "write_file": `{"path":"x","content":"x"}`,
					"exec": `{"command":"true"}`}
				for _, f := range forbidden {
					if err := os.WriteFile(filepath.Join(in.Workspace, "change"), []byte(f.arguments), 0o600); err != nil {
						t.Fatal(err)
					}
					if out, code := in.Run(t, "call", f.tool, "--json", harmless[f.tool]); code != clitest.ExitFailed {
						t.Errorf("%s: %d %s", f.tool, code, out)
					}
				}
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := clitest.NewHome(t)
			in.UseFakeModel(t, c.besides, c.script...)
			c.run(t, in)
			refused := map[string]string{}
			for _, r := range records(in, t) {
				if r.Origin == c.origin && r.Agent == c.agent && r.Decision == "deny" {
					refused[r.Tool] = r.Rule
				}
				if c.origin == "subagent" && r.Origin == c.origin && r.Parent == "" {
					t.Errorf("%s is in the record without its parent", r.Tool)
				}
			}
			for _, f := range forbidden {
				tool := "filesystem." + f.tool
				if f.tool == "exec" {
					tool = "shell.exec"
				}
				switch rule := refused[tool]; {
				case rule == "":
					t.Errorf("%s was not refused: %v", tool, refused)
				case rules[tool] == "":
					rules[tool] = rule
				case rules[tool] != rule:
					t.Errorf("%s was refused by %s, and elsewhere by %s", tool, rule, rules[tool])
				}
			}
			for _, name := range []string{"outside", "workspace/outside"} {
				if _, err := os.Stat(filepath.Join(in.Dir, name)); err == nil {
					t.Errorf("%s was written", name)
				}
			}
		})
	}
}

func TestDelegateNeedsPermission(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		allowed string
		runs    bool
	}{"nobody": {`[]`, false}, "another agent": {`["third"]`, false}, "the agent": {`["other"]`, true}, "any": {`["*"]`, true}} {
		t.Run(name, func(t *testing.T) {
			in := clitest.NewHome(t)
			in.UseFakeModel(t, `, "agents": {"list": [{"id": "main", "subagents": {"allow_agents": `+c.allowed+`}}, {"id": "other"}, {"id": "third"}]}`,
				clitest.NewToolCallReply("delegate", `{"task":"do it","agent_id":"other"}`), clitest.NewToolCallReply("list_dir", `{"path":"."}`),
				modeltest.ScriptedReply{Text: "done"}, modeltest.ScriptedReply{Text: "done"})
			if out, code := in.Run(t, "agent", "-m", "do it"); code != 0 {
				t.Fatal(out)
			}
			runs := false
			for _, r := range records(in, t) {
				runs = runs || r.Agent == "other"
			}
			if runs != c.runs {
				t.Errorf("with allow_agents %s, the other agent worked: %t", c.allowed, runs)
			}
		})
	}
}
