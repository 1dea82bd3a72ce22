package clitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// Agent is an agent with its own home outside /tmp, because sandboxes have their own /tmp. The guard's deny patterns
// and the protected files are off, so that commands reach the sandbox and undo.
type Agent struct {
	T         *testing.T
	Home      string
	Workspace string
	Env       []string
}

// NewAgent creates an agent with a home and a workspace; settings are NAME=VALUE environment variables.
func NewAgent(t *testing.T, isolated bool, settings ...string) *Agent {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	a := &Agent{T: t, Home: home, Workspace: filepath.Join(home, "workspace")}
	a.Env = append([]string{"PICOCLAW_HOME=" + home, "PATH=" + os.Getenv("PATH"), "HOME=" + home,
		"PICOCLAW_TOOLS_EXEC_ENABLE_DENY_PATTERNS=false", "PICOCLAW_WORKSPACE_PROTECT_ENABLED=false", fmt.Sprintf("PICOCLAW_ISOLATION_ENABLED=%v", isolated)}, settings...)
	if err := os.Mkdir(a.Workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	if isolated {
		SeedSandboxCache(t, home)
	}
	return a
}

// RunBashDirectly runs a bash script in the workspace, without picoclaw.
func (a *Agent) RunBashDirectly(script string) {
	a.T.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = a.Workspace
	cmd.Env = slices.Concat(a.Env, []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"})
	if out, err := cmd.CombinedOutput(); err != nil {
		a.T.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// ToolCall is a tool with its arguments, as `picoclaw batch` reads it.
type ToolCall struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

// UndoConflict is a path that undo did not restore, with the reason.
type UndoConflict struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// CallResult is the JSON answer of `picoclaw batch` to a call.
type CallResult struct {
	OK         bool   `json:"ok"`
	Text       string `json:"text"`
	Structured struct {
		NotCovered []string       `json:"not_covered"`
		Conflicts  []UndoConflict `json:"conflicts"`
		Changes    struct {
			Undo string `json:"undo"`
		} `json:"changes"`
		Undo        string   `json:"undo"`
		Protected   []string `json:"protected"`
		PutAside    []string `json:"put_aside"`
		EntryPoints []string `json:"entry_points"`
		Undone      any      `json:"undone"`  // exec: true; undo: the operation
		Session     string   `json:"session"` // of a command in the background
		Running     *bool    `json:"running"`
		Output      string   `json:"output"`
	} `json:"structured"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Rule    string `json:"rule"`
		Hint    string `json:"hint"`
	} `json:"error"`
}

// FullText returns the text and all texts of the error.
func (r CallResult) FullText() string {
	return strings.Join([]string{r.Text, r.Error.Message, r.Error.Rule, r.Error.Hint}, "\n")
}

// RunBatch makes calls one after another through one `picoclaw batch`.
func (a *Agent) RunBatch(calls ...ToolCall) []CallResult {
	a.T.Helper()
	var in bytes.Buffer
	for i, c := range calls {
		line, err := json.Marshal(map[string]any{"id": fmt.Sprint(i), "tool": c.Tool, "args": c.Args})
		if err != nil {
			a.T.Fatal(err)
		}
		fmt.Fprintf(&in, "%s\n", line)
	}
	cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "batch", "--jobs", "1")
	cmd.Env, cmd.Stdin, cmd.Stderr = a.Env, &in, os.Stderr
	out, _ := cmd.Output() // a call that fails makes it exit with 1
	var answers []CallResult
	for line := range strings.Lines(string(out)) {
		var r CallResult
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			a.T.Fatalf("%v: %s", err, line)
		}
		answers = append(answers, r)
	}
	if len(answers) != len(calls) {
		a.T.Fatalf("%d answers to %d calls: %s", len(answers), len(calls), out)
	}
	return answers
}

// NewExecCall returns a call of the tool exec with a command line.
func NewExecCall(text string) ToolCall { return ToolCall{"exec", map[string]any{"command": text}} }

// StartBatch starts `picoclaw batch` and returns a function that makes one call through it.
func (a *Agent) StartBatch() func(ToolCall) CallResult {
	a.T.Helper()
	cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "batch", "--jobs", "1")
	cmd.Env, cmd.Stderr = a.Env, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		a.T.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		a.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		a.T.Fatal(err)
	}
	a.T.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	answers := json.NewDecoder(out)
	return func(c ToolCall) (r CallResult) {
		line, err := json.Marshal(map[string]any{"id": "1", "tool": c.Tool, "args": c.Args})
		if err == nil {
			_, err = fmt.Fprintf(in, "%s\n", line)
		}
		if err == nil {
			err = answers.Decode(&r)
		}
		if err != nil {
			a.T.Fatal(err)
		}
		return r
	}
}
