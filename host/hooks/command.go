package hooks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/stdio"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Limits of a hook's input and output in bytes.
const (
	maxInput  = 1 << 20
	maxOutput = 64 << 10
	maxReason = 4 << 10 // of a reason, or of a hook's standard error
)

// defaultTimeout is the timeout of command hooks without a configured timeout.
const defaultTimeout = 60 * time.Second

// commandHookRunner runs the command of a command hook, which has the form of Claude Code's settings.
type commandHookRunner struct {
	hook  CommandHookOptions
	alias *toolAlias // the name and form of the tool call in its input; nil for other events
}

// String returns the command, shortened for messages.
func (c *commandHookRunner) String() string {
	text := c.hook.Command
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}

// respond runs the command for a request and returns its response. For a call that edits several files, it runs the
// command once per file and merges the responses.
func (c *commandHookRunner) respond(ctx context.Context, q hookRequest) (hookResponse, error) {
	inputs := []map[string]json.RawMessage{nil}
	if c.alias != nil {
		var err error
		if inputs, err = c.alias.toClaudeInputs(q.call.Args, q.dir); err != nil {
			return hookResponse{}, err
		}
	}
	var merged hookResponse
	for _, input := range inputs {
		a, err := c.runCommandOnce(ctx, q, input)
		if err != nil {
			return hookResponse{}, err
		}
		if a.args != nil && c.alias != nil {
			if len(inputs) > 1 {
				return hookResponse{}, errors.New("changes the input of a call about several files, which is not possible")
			}
			if a.args, err = c.alias.fromClaudeInput(a.args, input, q.call.Args); err != nil {
				return hookResponse{}, fmt.Errorf("has an updatedInput that can't be read: %w", err)
			}
		}
		merged = mergeResponses(merged, a)
	}
	return merged, nil
}

// mergeResponses merges a hook's responses to the parts of one call. The stricter decision applies.
func mergeResponses(a, b hookResponse) hookResponse {
	a.context = joinLines(a.context, b.context)
	a.stop = a.stop || b.stop
	if b.decision > a.decision {
		a.decision, a.reason = b.decision, b.reason
	}
	if b.args != nil {
		a.args = b.args
	}
	return a
}

// runCommandOnce runs the command with one input and parses its response.
func (c *commandHookRunner) runCommandOnce(ctx context.Context, q hookRequest, input map[string]json.RawMessage) (hookResponse, error) {
	encoded, err := json.Marshal(c.buildInput(q, input))
	if err != nil {
		return hookResponse{}, err
	}
	if len(encoded) > maxInput {
		return hookResponse{}, fmt.Errorf("can't be sent %d bytes, more than %d", len(encoded), maxInput)
	}
	timeout := defaultTimeout
	if c.hook.Timeout > 0 {
		timeout = time.Duration(c.hook.Timeout * float64(time.Second))
	}
	p, err := c.buildProgram(q)
	if err != nil {
		return hookResponse{}, err
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	o, err := runProgram(limited, q.sessionInfo, p, append(encoded, '\n'))
	switch {
	case ctx.Err() != nil:
		return hookResponse{}, ctx.Err()
	case limited.Err() != nil:
		return hookResponse{}, fmt.Errorf("did not end within %s", timeout)
	case err != nil:
		return hookResponse{}, err
	}
	return o.parseResponse(q.event)
}

// buildInput returns the JSON object that the command reads from standard input.
func (c *commandHookRunner) buildInput(q hookRequest, input map[string]json.RawMessage) map[string]any {
	fields := map[string]any{
		"session_id": q.session, "transcript_path": q.transcript, "cwd": q.dir,
		"permission_mode": "default", "hook_event_name": q.event,
	}
	switch q.event {
	case PreToolUse, PostToolUse:
		fields["tool_name"], fields["tool_input"], fields["tool_use_id"] = c.alias.name, input, q.call.ID
		if q.result != nil {
			fields["tool_response"] = c.alias.toClaudeResponse(q.result, input)
		}
	case UserPromptSubmit:
		fields["prompt"] = q.data.Prompt
	case SessionStart:
		fields["source"] = q.data.Source
	case SessionEnd:
		fields["reason"] = q.data.Reason
	case SubagentStop:
		fields["agent_type"], fields["stop_hook_active"] = q.data.AgentType, q.data.Active
	case Stop:
		fields["stop_hook_active"] = q.data.Active
	case Notification:
		fields["title"], fields["message"], fields["notification_type"] = q.data.Title, q.data.Message, q.data.Kind
	}
	return fields
}

// buildProgram returns the program to run: a shell with the command, or the command itself if it has arguments.
func (c *commandHookRunner) buildProgram(q hookRequest) (session.AgentProgram, error) {
	sum := sha256.Sum256(encodeJSON(c.hook)) // each hook has a home directory of its own
	p := newConfinedProgram(q.sessionInfo, fmt.Sprintf("hook-%s-%x", q.event, sum[:4]), c.hook.HookGrants)
	if c.hook.Args != nil {
		return p, setCommandExecutable(p.Command, append([]string{c.hook.Command}, c.hook.Args...))
	}
	shell, err := guard.FindShell()
	if err != nil {
		return p, err
	}
	return p, setCommandExecutable(p.Command, []string{shell.Path, "-c", c.hook.Command})
}

// newConfinedProgram returns a program with a hook's grants and the environment of an agent's commands. The caller sets
// the executable. The program runs in the workspace if the grants open it.
func newConfinedProgram(w sessionInfo, name string, g HookGrants) session.AgentProgram {
	env := maps.Clone(g.Env)
	if env == nil {
		env = map[string]string{}
	}
	env["CLAUDE_PROJECT_DIR"] = w.dir
	cmd := &osexec.Cmd{Dir: w.dir, Env: exec.BuildEnvironment(nil, env, slices.Concat(g.Read, g.Write))}
	if g.Workspace == "none" {
		cmd.Dir = string(filepath.Separator)
	}
	return session.AgentProgram{
		Name: name, Command: cmd, Workspace: cmp.Or(g.Workspace, "ro"), ReadOnly: g.Read, ReadWrite: g.Write,
		Network: g.Network, Hosts: g.Hosts, Secrets: g.Secrets,
	}
}

// setCommandExecutable sets the executable and arguments of a command. It looks up a name without a slash in the hook's PATH,
// not in the host's.
func setCommandExecutable(cmd *osexec.Cmd, argv []string) error {
	cmd.Path, cmd.Args = argv[0], argv
	if strings.Contains(argv[0], "/") {
		return nil
	}
	for _, pair := range cmd.Env {
		path, _ := strings.CutPrefix(pair, "PATH=")
		for _, dir := range filepath.SplitList(path) {
			if found, err := osexec.LookPath(filepath.Join(dir, argv[0])); err == nil && filepath.IsAbs(found) {
				cmd.Path = found
				return nil
			}
		}
	}
	return fmt.Errorf("has no program %s in the directories that it sees; name the file, and its directory in \"read\"",
		argv[0])
}

// commandResult is the output and exit status of a command.
type commandResult struct {
	stdout, stderr []byte
	exit           isolation.ExitStatus
}

// runProgram runs a program with input and returns its output. When the context ends, it kills the program and its
// descendants.
func runProgram(ctx context.Context, w sessionInfo, p session.AgentProgram, input []byte) (*commandResult, error) {
	process, pipes, err := startWithPipes(w, p)
	if err != nil {
		return nil, err
	}
	defer pipes.Close()
	out := &commandResult{}
	var readers sync.WaitGroup
	go func() {
		_, _ = pipes.In.Write(input) // the program may ignore its input
		_ = pipes.In.Close()
	}()
	readers.Go(func() { out.stdout = readOutputPrefix(pipes.Out) })
	readers.Go(func() { out.stderr = readOutputPrefix(pipes.Err) })
	out.exit, err = process.Wait(ctx)
	process.Kill()
	<-process.Done()
	pipes.SetReadDeadlines()
	readers.Wait()
	if err != nil {
		return nil, fmt.Errorf("could not be run: %w", err)
	}
	return out, nil
}

// readOutputPrefix reads a stream to its end, and returns at most its first maxOutput+1 bytes.
func readOutputPrefix(from io.Reader) []byte {
	data, _ := io.ReadAll(io.LimitReader(from, maxOutput+1))
	_, _ = io.Copy(io.Discard, from)
	return data
}

// parseResponse returns a hook's response from the exit status and output.
func (o *commandResult) parseResponse(e HookEvent) (hookResponse, error) {
	code := o.exit.Code
	switch {
	case o.exit.Signal != nil:
		return hookResponse{}, fmt.Errorf("was ended by a signal (%v)%s", o.exit.Signal, o.stderrSuffix())
	case o.exit.Exceeded != "":
		return hookResponse{}, fmt.Errorf("was ended, as it went over its limit of %s", o.exit.Exceeded)
	case code == 2:
		return hookResponse{decision: deny, reason: cmp.Or(printablePrefix(o.stderr), "it exited with 2 and gave no reason")}, nil
	case code == 126 || code == 127:
		return hookResponse{}, fmt.Errorf("could not be run (exit status %d)%s; it sees the workspace and the paths in \"read\"",
			code, o.stderrSuffix())
	case code > 128:
		return hookResponse{}, fmt.Errorf("was ended by a signal (exit status %d, which is %v)%s", code, syscall.Signal(code-128),
			o.stderrSuffix())
	case code != 0:
		return hookResponse{}, fmt.Errorf("exited with %d%s", code, o.stderrSuffix())
	case len(o.stdout) > maxOutput:
		return hookResponse{}, fmt.Errorf("wrote more than %d bytes", maxOutput)
	}
	return parseCommandOutput(e, o.stdout)
}

// stderrSuffix returns ": " and the standard error for an error message; empty if there is none.
func (o *commandResult) stderrSuffix() string {
	if text := printablePrefix(o.stderr); text != "" {
		return ": " + text
	}
	return ""
}

// printablePrefix shortens a hook's text and removes control characters, for people and models.
func printablePrefix(text []byte) string { return stdio.PrintablePrefix(string(text), maxReason) }

func startWithPipes(w sessionInfo, p session.AgentProgram) (*isolation.Process, *stdio.ChildPipes, error) {
	pipes, err := stdio.AttachPipes(p.Command)
	if err != nil {
		return nil, nil, err
	}
	process, err := w.start(p)
	if err != nil {
		pipes.Close()
		return nil, nil, fmt.Errorf("could not be started: %w", err)
	}
	pipes.CloseChildEnds()
	return process, pipes, nil
}

// commandOutput is the JSON output of a command hook. Duplicate names are an error. Otherwise an agent's text could add
// a second, different decision to the output of a script that inserts the text into JSON.
type commandOutput struct {
	Continue       *bool  `json:"continue"`
	StopReason     string `json:"stopReason"`
	SystemMessage  string `json:"systemMessage"`
	SuppressOutput bool   `json:"suppressOutput"`
	Decision       string `json:"decision"`
	Reason         string `json:"reason"`
	Specific       struct {
		Event    HookEvent      `json:"hookEventName"`
		Decision string         `json:"permissionDecision"`
		Reason   string         `json:"permissionDecisionReason"`
		Input    jsontext.Value `json:"updatedInput"`
		Context  string         `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

// parseCommandOutput parses the standard output of a command hook that exited with 0.
func parseCommandOutput(e HookEvent, stdout []byte) (hookResponse, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(stdout), []byte("\xef\xbb\xbf"))) // trim a byte order mark
	if len(text) == 0 {
		return hookResponse{}, nil
	}
	if text[0] != '{' {
		return parsePlainText(e, text)
	}
	var s commandOutput
	if err := jsonx.Unmarshal(text, &s); err != nil {
		return hookResponse{}, fmt.Errorf("wrote invalid JSON: %w", err)
	}
	if s.Specific.Event != "" && s.Specific.Event != e {
		return hookResponse{}, fmt.Errorf("responds to %s instead of %s", s.Specific.Event, e)
	}
	a := hookResponse{context: s.Specific.Context}
	if err := a.addDecision(s.Decision, s.Reason); err != nil {
		return hookResponse{}, err
	}
	if err := a.addDecision(s.Specific.Decision, s.Specific.Reason); err != nil {
		return hookResponse{}, err
	}
	if s.Continue != nil && !*s.Continue {
		a.stop, a.decision = true, deny
		a.reason = cmp.Or(strings.TrimSpace(s.StopReason), a.reason)
	}
	if input := s.Specific.Input; len(input) > 0 && input.Kind() != 'n' {
		if input.Kind() != '{' {
			return hookResponse{}, errors.New("has an updatedInput that is not an object")
		}
		a.args = json.RawMessage(input)
	}
	return a, nil
}

// parsePlainText parses output that is not a JSON object. For SessionStart and UserPromptSubmit, the text is context.
// For events that can't be refused, it is ignored, since formatters print text. In all other cases, and around JSON,
// text is an error, because it may hide a refusal.
func parsePlainText(e HookEvent, text []byte) (hookResponse, error) {
	switch {
	case e != SessionStart && !e.hooksCanRefuse():
		return hookResponse{}, nil
	case e == PreToolUse, json.Valid(text),
		slices.ContainsFunc(bytes.Split(text, []byte("\n")), func(line []byte) bool {
			return bytes.HasPrefix(bytes.TrimSpace(line), []byte("{"))
		}):
		return hookResponse{}, errors.New("wrote something other than a JSON object")
	}
	return hookResponse{context: string(text)}, nil
}

// addDecision merges a decision, allow, ask or deny, into the response. "allow" changes nothing.
func (a *hookResponse) addDecision(word, reason string) error {
	d := none
	switch word {
	case "", "approve", "allow":
	case "ask":
		d = ask
	case "block", "deny":
		d = deny
	default:
		return fmt.Errorf("has the decision %q, which is not known", word)
	}
	if d > a.decision {
		a.decision, a.reason = d, reason
	} else if a.reason == "" {
		a.reason = reason
	}
	return nil
}
