package hooks

import (
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

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/stdio"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// How much goes to a hook and comes back.
const (
	maxInput  = 1 << 20
	maxOutput = 64 << 10
	maxReason = 4 << 10 // of what a hook has said to the model, or of its errors
)

// defaultTimeout is how long a command may take that says nothing else.
const defaultTimeout = 60 * time.Second

// command asks a command of Claude Code's form.
type command struct {
	hook Hook
	form *form // the tool's name and arguments as it is given them; nil for what is no call
}

func (c *command) String() string {
	text := c.hook.Command
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}

func (c *command) ask(ctx context.Context, q question) (answer, error) {
	inputs := []map[string]json.RawMessage{nil}
	if c.form != nil {
		var err error
		if inputs, err = c.form.inputs(q.call.Args, q.dir); err != nil {
			return answer{}, err
		}
	}
	var whole answer
	for _, input := range inputs {
		a, err := c.once(ctx, q, input)
		if err != nil {
			return answer{}, err
		}
		if a.args != nil && c.form != nil {
			if len(inputs) > 1 {
				return answer{}, errors.New("changes the input of a call about several files, which has no counterpart")
			}
			if a.args, err = c.form.back(a.args, input, q.call.Args); err != nil {
				return answer{}, fmt.Errorf("has an updatedInput that can't be read: %w", err)
			}
		}
		whole = stricter(whole, a)
	}
	return whole, nil
}

// stricter puts together what a hook has said about the parts of one call.
func stricter(a, b answer) answer {
	a.context = joined(a.context, b.context)
	a.stop = a.stop || b.stop
	if b.decision > a.decision {
		a.decision, a.reason = b.decision, b.reason
	}
	if b.args != nil {
		a.args = b.args
	}
	return a
}

// once runs the command and reads its answer.
func (c *command) once(ctx context.Context, q question, input map[string]json.RawMessage) (answer, error) {
	told, err := json.Marshal(c.told(q, input))
	if err != nil {
		return answer{}, err
	}
	if len(told) > maxInput {
		return answer{}, fmt.Errorf("can't be told of %d bytes, more than %d", len(told), maxInput)
	}
	timeout := defaultTimeout
	if c.hook.Timeout > 0 {
		timeout = time.Duration(c.hook.Timeout * float64(time.Second))
	}
	p, err := c.program(q)
	if err != nil {
		return answer{}, err
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	o, err := run(within, q.where, p, append(told, '\n'))
	switch {
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case within.Err() != nil:
		return answer{}, fmt.Errorf("did not end within %s", timeout)
	case err != nil:
		return answer{}, err
	}
	return o.answer(q.event)
}

// told is what the command reads from its standard input.
func (c *command) told(q question, input map[string]json.RawMessage) map[string]any {
	told := map[string]any{
		"session_id": q.session, "transcript_path": q.transcript, "cwd": q.dir,
		"permission_mode": "default", "hook_event_name": q.event,
	}
	switch q.event {
	case PreToolUse, PostToolUse:
		told["tool_name"], told["tool_input"], told["tool_use_id"] = c.form.name, input, q.call.ID
		if q.result != nil {
			told["tool_response"] = c.form.response(q.result, input)
		}
	case UserPromptSubmit:
		told["prompt"] = q.occasion.Prompt
	case SessionStart:
		told["source"] = q.occasion.Source
	case SessionEnd:
		told["reason"] = q.occasion.Reason
	case SubagentStop:
		told["agent_type"], told["stop_hook_active"] = q.occasion.AgentType, q.occasion.Active
	case Stop:
		told["stop_hook_active"] = q.occasion.Active
	case Notification:
		told["title"], told["message"], told["notification_type"] = q.occasion.Title, q.occasion.Message, q.occasion.Kind
	}
	return told
}

// program is what is run: the machine's shell, or with arguments the command itself.
func (c *command) program(q question) (session.Program, error) {
	sum := sha256.Sum256(encode(c.hook)) // hooks that may do different things have different homes
	p := program(q.where, fmt.Sprintf("hook-%s-%x", q.event, sum[:4]), c.hook.Grants)
	if c.hook.Args != nil {
		return p, runs(p.Command, append([]string{c.hook.Command}, c.hook.Args...))
	}
	shell, err := guard.MachineShell()
	if err != nil {
		return p, err
	}
	return p, runs(p.Command, []string{shell.Path, "-c", c.hook.Command})
}

// program is a hook's program, to be named by the caller, with what it may touch. It runs in the workspace, if it sees
// that, and has the environment that an agent's commands have.
func program(w where, name string, g Grants) session.Program {
	own := maps.Clone(g.Env)
	if own == nil {
		own = map[string]string{}
	}
	own["CLAUDE_PROJECT_DIR"] = w.dir
	cmd := &osexec.Cmd{Dir: w.dir, Env: exec.Environment(nil, own, slices.Concat(g.Read, g.Write))}
	if g.Workspace == "none" {
		cmd.Dir = string(filepath.Separator)
	}
	return session.Program{
		Name: name, Command: cmd, Workspace: cmp.Or(g.Workspace, "ro"), ReadOnly: g.Read, ReadWrite: g.Write,
		Network: g.Network, Hosts: g.Hosts, Secrets: g.Secrets,
	}
}

// runs puts in a command what it runs. A name is looked up where the hook looks programs up, and not where the host
// does.
func runs(cmd *osexec.Cmd, argv []string) error {
	cmd.Path, cmd.Args = argv[0], argv
	if strings.Contains(argv[0], "/") {
		return nil
	}
	for _, pair := range cmd.Env {
		path, _ := strings.CutPrefix(pair, "PATH=")
		for _, dir := range filepath.SplitList(path) {
			if at, err := osexec.LookPath(filepath.Join(dir, argv[0])); err == nil && filepath.IsAbs(at) {
				cmd.Path = at
				return nil
			}
		}
	}
	return fmt.Errorf("has no program %s in the directories that it sees; name the file, and its directory in \"read\"",
		argv[0])
}

// output is what a command has written, and how it ended.
type output struct {
	stdout, stderr []byte
	exit           isolation.Exit
}

// run runs a program with input, and ends all that it has started when the context does.
func run(ctx context.Context, w where, p session.Program, input []byte) (*output, error) {
	process, pipes, err := start(w, p)
	if err != nil {
		return nil, err
	}
	defer pipes.Close()
	out := &output{}
	var reading sync.WaitGroup
	go func() {
		_, _ = pipes.In.Write(input) // it need not read all of it, nor any
		_ = pipes.In.Close()
	}()
	reading.Go(func() { out.stdout = bounded(pipes.Out) })
	reading.Go(func() { out.stderr = bounded(pipes.Err) })
	out.exit, err = process.Wait(ctx)
	process.Kill()
	<-process.Done()
	pipes.Ended()
	reading.Wait()
	if err != nil {
		return nil, fmt.Errorf("could not be run: %w", err)
	}
	return out, nil
}

// bounded reads all of a stream, and keeps as much as may come back and a byte more.
func bounded(from io.Reader) []byte {
	data, _ := io.ReadAll(io.LimitReader(from, maxOutput+1))
	_, _ = io.Copy(io.Discard, from)
	return data
}

// answer reads what a command has said by its exit and its output.
func (o *output) answer(e Event) (answer, error) {
	code := o.exit.Code
	switch {
	case o.exit.Signal != nil:
		return answer{}, fmt.Errorf("was ended by a signal (%v)%s", o.exit.Signal, o.lastWords())
	case o.exit.Exceeded != "":
		return answer{}, fmt.Errorf("was ended, as it went over its limit of %s", o.exit.Exceeded)
	case code == 2:
		return answer{decision: deny, reason: cmp.Or(reason(o.stderr), "it exited with 2 and gave no reason")}, nil
	case code == 126 || code == 127:
		return answer{}, fmt.Errorf("could not be run (exit status %d)%s; it sees the workspace and what \"read\" names",
			code, o.lastWords())
	case code > 128:
		return answer{}, fmt.Errorf("was ended by a signal (exit status %d, which is %v)%s", code, syscall.Signal(code-128),
			o.lastWords())
	case code != 0:
		return answer{}, fmt.Errorf("exited with %d%s", code, o.lastWords())
	case len(o.stdout) > maxOutput:
		return answer{}, fmt.Errorf("wrote more than %d bytes", maxOutput)
	}
	return parse(e, o.stdout)
}

func (o *output) lastWords() string {
	if text := reason(o.stderr); text != "" {
		return ": " + text
	}
	return ""
}

// reason is what a hook has written for people and models.
func reason(text []byte) string { return stdio.Words(string(text), maxReason) }

// start starts a program with pipes for its streams.
func start(w where, p session.Program) (*isolation.Process, *stdio.Pipes, error) {
	pipes, err := stdio.Of(p.Command)
	if err != nil {
		return nil, nil, err
	}
	process, err := w.start(p)
	if err != nil {
		pipes.Close()
		return nil, nil, fmt.Errorf("could not be started: %w", err)
	}
	pipes.Started()
	return process, pipes, nil
}
