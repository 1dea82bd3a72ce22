package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/docs/internal/console"
)

// surroundings are what the examples of commands speak of: files in the current directory and in the workspace, agents,
// changes that can be taken back, a job, and a plugin that somebody has written.
const surroundings = `
mkdir -p ~/.picoclaw/workspace ~/projects/site ~/.config/fish/completions ~/plugins ~/.vscode
echo '{"agents": {"agents": [{"id": "main"}, {"id": "reader"}, {"id": "reviewer"}, {"id": "guest"}]}}' > ~/.picoclaw/config.json
echo '{}' > new.json
mkdir ~/projects/site/.picoclaw && echo '{"network": {"deny": ["*"]}}' > ~/projects/site/.picoclaw/config.json
echo 'module example.com/site' > ~/.picoclaw/workspace/go.mod
echo 'package site' > ~/.picoclaw/workspace/site.go
echo 'package site' > site.go
echo 'a draft' > draft.md
echo '{"path":"go.mod","old_text":"site","new_text":"page"}' > args.json
echo '{"id":1,"tool":"read_file","args":{"path":"go.mod"}}' > calls.jsonl
mkdir -p wordcount/bin && cp -r "$AUTHORED" wordcount/bin/
cp "$AUTHORED.tar.gz" wordcount-1.0.0.tar.gz && cp "$AUTHORED.tar.gz" wordcount-1.1.0.tar.gz
for agent in main reviewer; do picoclaw call --agent $agent write_file path=made content=made || exit 1; done >made.log
picoclaw cron add standup --every 1d --message 'Sum up yesterday.' >made.log
`

// installed are the sections whose examples are about a plugin that is installed.
var installed = []string{"picoclaw plugin remove", "picoclaw plugin reset", "picoclaw plugin update"}

// fetches is why examples about MCP servers are not played here: cmd/picoclaw/internal/cmd/mcp has tests that fetch some.
const fetches = "it takes a server that is fetched"

// asksModel is why turns are not played here, and wantsGateway and wantsFleet why what is asked of these is not:
// cmd/picoclaw has tests that have both.
const (
	asksModel    = "it takes a model"
	noProject    = "the home directory is no project"
	wantsGateway = "it takes a gateway that runs"
	wantsFleet   = "it takes a fleet"
	wantsHub     = "no hub runs"

	waitsForAnswer = "a call has to wait for it, and has another id each time"
)

// notPlayed are the examples that can't be played, and why.
func notPlayed() map[string]string {
	return map[string]string{
		"picoclaw audit --agent main --tool exec --follow":                               "it goes on until it is told to stop",
		"picoclaw call --fleet tls://hub.lan:4222 --agent site read_file path=go.mod":    wantsFleet,
		"picoclaw fleet status --fleet tls://nats.example.com:4222":                      wantsFleet,
		"picoclaw fleet status --output json":                                            wantsFleet,
		"picoclaw fleet where main":                                                      wantsFleet,
		"picoclaw fleet drain build1 --fleet ops.fleet":                                  wantsHub,
		"picoclaw fleet move site build2 --fleet ops.fleet":                              wantsHub,
		"picoclaw gateway --fleet tls://nats.example.com:4222":                           wantsFleet,
		"picoclaw worker --fleet tls://nats.example.com:4222 --credentials worker.creds": wantsFleet,
		"picoclaw worker --fleet build1.fleet":                                           wantsFleet,
		"picoclaw worker":                                                                wantsFleet,
		"picoclaw hook claude < event.json":                                              "it wants a client's event",
		"picoclaw hook --agent reader gemini < event.json":                               "it wants a client's event",
		"picoclaw run -- claude":                                                         noProject,
		"picoclaw run --show -- codex":                                                   noProject,
		"picoclaw run --allow registry.npmjs.org -- npm test":                            noProject,
		"picoclaw trust":                                                                noProject,
		"picoclaw trust --remove":                                                       noProject,
		"picoclaw gateway":                                                              "it goes on until it is told to stop",
		"picoclaw gateway --port 0 --log-level info":                                    "it goes on until it is told to stop",
		"picoclaw gateway reload":                                                       wantsGateway,
		"picoclaw console":                                                              wantsGateway,
		"picoclaw console --operate":                                                    wantsGateway,
		"picoclaw gateway status":                                                       wantsGateway,
		"picoclaw gateway status --output json":                                         wantsGateway,
		"picoclaw agent":                                                                asksModel,
		"picoclaw agent -m 'what does this repository do?'":                             asksModel,
		"picoclaw agent -s review --agent reader -m - < task.md":                        asksModel,
		"picoclaw agent -m 'fix the tests' --output json":                               asksModel,
		"picoclaw agent forget cli:default":                                             asksModel,
		"picoclaw approvals allow 5kq2mzra":                                             waitsForAnswer,
		"picoclaw approvals allow 5kq2mzra --always":                                    waitsForAnswer,
		"picoclaw approvals deny 5kq2mzra --why 'ask on Monday'":                        waitsForAnswer,
		"picoclaw approvals show 5kq2mzra":                                              waitsForAnswer,
		"picoclaw audit verify --witness /mnt/elsewhere/witness.jsonl":                  "there is no witness",
		"picoclaw --config new.json audit replay --since 24h":                           "what would change depends on the configuration; it exits with 1 then",
		"picoclaw mcp --http 127.0.0.1:8765":                                            "it goes on until it is told to stop",
		"picoclaw undo 20261121T051354282482850-fzaj":                                   "the change has another id each time",
		"picoclaw run allow 20261121T051354-fzaj registry.npmjs.org":                    "the run has another id each time",
		"claude mcp add picoclaw -- picoclaw mcp":                                       "the client is not there",
		"picoclaw mcp add everything -- npx -y @modelcontextprotocol/server-everything": fetches,
		"picoclaw hub": "it goes on until it is told to stop",
		"picoclaw hub --listen 0.0.0.0:4222 --name hub.example.com":                     "it goes on until it is told to stop",
		"picoclaw hub revoke build1":                                                    "nobody was let in",
		"picoclaw hub witness build1 > build1.jsonl":                                    wantsHub,
		"picoclaw fleet config push fleet.json --key minisign.key --fleet ops.fleet":    wantsHub,
		"picoclaw fleet config push fleet.json --fleet ops.fleet":                       wantsHub,
		"picoclaw fleet config rollback --key minisign.key --fleet ops.fleet":           wantsHub,
		"picoclaw fleet config rollback --to 3 --key minisign.key --fleet ops.fleet":    wantsHub,
		"picoclaw fleet config show --fleet ops.fleet":                                  wantsHub,
		"picoclaw fleet config show --serial 3 --fleet ops.fleet":                       wantsHub,
		"picoclaw mcp add git --workspace rw -- uvx mcp-server-git":                     fetches,
		"picoclaw mcp add wiki --url https://mcp.deepwiki.com/mcp":                      fetches,
		"picoclaw mcp add api --url https://x.test --secret KEY --header 'Key: ${KEY}'": fetches,
		"picoclaw mcp import ~/.config/Claude/claude_desktop_config.json":               fetches,
		"picoclaw mcp import .vscode/mcp.json --workspace ro":                           fetches,
		"picoclaw mcp show everything":                                                  fetches,
		"picoclaw mcp update everything":                                                fetches,
		"picoclaw mcp grant weather --network api.weather.gov":                          fetches,
		"picoclaw mcp grant kube --program kubectl --workspace ro":                      fetches,
		"picoclaw mcp revoke weather --network api.weather.gov":                         fetches,
		"picoclaw mcp trust everything":                                                 fetches,
		"picoclaw mcp login linear":                                                     fetches,
		"picoclaw mcp login linear --device":                                            fetches,
		"picoclaw mcp logout linear":                                                    fetches,
		"picoclaw mcp remove everything":                                                fetches,
		"picoclaw completion bash > /etc/bash_completion.d/picoclaw":                    "it writes outside the home",
		`picoclaw completion zsh > "${fpath[1]}/_picoclaw"`:                             "it is for zsh",
		"picoclaw call exec command='go test ./...' timeout=120":                        "it needs Go",
		"picoclaw plugin new wordcount && cd wordcount && make test":                    "it needs Go; it is played with the page on plugins",
		"picoclaw plugin update wordcount":                                              "the package that it was installed from says no other version",
		"picoclaw plugin update wordcount-1.1.0.tar.gz":                                 "there is no other version",
		"picoclaw gateway token revoke ID":                                              "a token has another id each time",
		`# then in config.json:  "$schema": "./config.schema.json"`:                     "it is a comment",
	}
}

// The examples of every command do what they are for, each command's in an empty home with surroundings.
func TestTheExamplesOfCommandsWork(t *testing.T) {
	text, err := os.ReadFile("cli.md")
	if err != nil {
		t.Fatal(err)
	}
	authored := newPlugin(t)
	left := notPlayed()
	heading := regexp.MustCompile(`(?m)^## (picoclaw(?: [a-z]+)+)(?: .*)?$`)
	played := 0
	for _, found := range heading.FindAllStringSubmatch(string(text), -1) {
		name := found[1]
		examples := examplesOf(t, name)
		if len(examples) == 0 {
			continue
		}
		steps := []console.Step{{Command: surroundings}}
		if slices.Contains(installed, name) {
			steps = append(steps, console.Step{Command: "picoclaw plugin install wordcount-1.0.0.tar.gz --yes"})
		}
		prepared := len(steps)
		for _, line := range examples {
			if _, skip := left[line]; skip {
				delete(left, line)
				continue
			}
			command, _, _ := strings.Cut(line, "  ") // what is behind it explains it
			steps = append(steps, console.Step{Command: answered(command)})
		}
		played += len(steps) - prepared
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newReaderShell(t)
			s.Env = []string{"AUTHORED=" + authored}
			checkSteps(t, s, steps)
		})
	}
	if played < 60 {
		t.Errorf("only %d examples were found", played)
	}
	for line := range left {
		t.Errorf("%q is no example any more", line)
	}
}

// examplesOf returns the lines that a command's help shows as examples.
func examplesOf(t *testing.T, command string) (lines []string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, "picoclaw"), append(strings.Fields(command)[1:], "--help")...)
	cmd.Env = []string{"HOME=" + t.TempDir()}
	help, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s --help: %v\n%s", command, err, help)
	}
	_, after, found := strings.Cut(string(help), "\nExamples:\n")
	if !found {
		return nil
	}
	block, _, _ := strings.Cut(after, "\n\n")
	for line := range strings.Lines(block) {
		lines = append(lines, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "  "))
	}
	return lines
}

// answered is a command with the answer to what it asks: nobody is there.
func answered(command string) string {
	for _, asks := range []string{"picoclaw plugin install ", "picoclaw init --client ", "picoclaw plugin remove "} {
		if strings.HasPrefix(command, asks) && !strings.Contains(command, "--yes") {
			return command + " --yes"
		}
	}
	return command
}

// newPlugin has picoclaw begin a plugin, goes the way to it that the page on plugins shows, and returns the directory
// of its package.
func newPlugin(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	way := regexp.MustCompile(`(?m)\n\n((?:    .*\n)+)`).FindStringSubmatch(string(text))
	if way == nil || strings.Count(way[1], "\n") < 5 {
		t.Fatalf("the page on plugins shows no way: %q", way)
	}
	out, err := exec.Command("go", "env", "GOROOT", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	goes := strings.Split(string(out), "\n")
	s := newShell(t)
	if err := os.Chmod(s.Home, 0o755); err != nil { // others copy the package
		t.Fatal(err)
	}
	s.Env = []string{"PATH=" + programs + ":" + goes[0] + "/bin:/usr/local/bin:/usr/bin:/bin",
		"GOCACHE=" + goes[1], "GOMODCACHE=" + goes[2], "GOPROXY=off"}
	var steps []console.Step
	for line := range strings.Lines(way[1]) {
		command, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		steps = append(steps, console.Step{Command: answered(command)})
	}
	steps = append(steps, console.Step{Command: "tar -C ~/wordcount/bin -czf ~/wordcount/bin/wordcount.tar.gz wordcount"})
	checkSteps(t, s, steps)
	return filepath.Join(s.Home, "wordcount", "bin", "wordcount")
}
