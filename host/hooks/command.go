package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/picoclaw/picoclaw/isolation"
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
	return quoted(strings.Join(append([]string{c.hook.Command}, c.hook.Args...), " "))
}

func (c *command) ask(ctx context.Context, q question) (answer, error) {
	inputs := []map[string]json.RawMessage{nil}
	if c.form != nil {
		var err error
		if inputs, err = c.form.inputs(q.call.Args, q.session.Dir); err != nil {
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
	cmd, err := c.command(q.session)
	if err != nil {
		return answer{}, err
	}
	timeout := defaultTimeout
	if c.hook.Timeout > 0 {
		timeout = time.Duration(c.hook.Timeout * float64(time.Second))
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	o, err := run(within, q.session, program("hook "+string(q.event), cmd, c.hook.Grants), append(told, '\n'))
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
		"session_id": q.session.ID, "transcript_path": q.session.Transcript, "cwd": q.session.Dir,
		"permission_mode": "default", "hook_event_name": q.event,
	}
	switch q.event {
	case PreToolUse, PostToolUse:
		told["tool_name"], told["tool_input"], told["tool_use_id"] = c.form.name, input, q.call.ID
		if q.response != nil {
			told["tool_response"] = c.form.response(q.response, input)
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
	}
	return told
}

// command is the command as it is run: by the machine's shell, or by itself where it has arguments.
func (c *command) command(s Session) (*exec.Cmd, error) {
	cmd := &exec.Cmd{Dir: directory("", c.hook.Workspace, s), Env: environment(c.hook.Env, s)}
	if c.hook.Args != nil {
		var err error
		cmd.Args = append([]string{c.hook.Command}, c.hook.Args...)
		cmd.Path, err = find(c.hook.Command)
		return cmd, err
	}
	shell, err := guard.MachineShell()
	if err != nil {
		return nil, err
	}
	cmd.Path, cmd.Args = shell.Path, []string{shell.Path, "-c", c.hook.Command}
	return cmd, nil
}

// find looks up a program of the operator's.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("has no program: %w", err)
	}
	return filepath.Abs(path)
}

// directory is where a hook runs: in the workspace, if it sees that.
func directory(dir, workspace string, s Session) string {
	switch {
	case dir != "":
		return dir
	case workspace == "none":
		return string(filepath.Separator)
	}
	return s.Dir
}

// environment is the whole environment of a hook: what programs need to find their way, and what its options say.
func environment(own map[string]string, s Session) []string {
	env := []string{"CLAUDE_PROJECT_DIR=" + s.Dir}
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// program is a command with what it may touch.
func program(name string, cmd *exec.Cmd, g Grants) Program {
	p := Program{
		Name: name, Command: cmd, Workspace: g.Workspace, ReadOnly: expanded(g.Read), ReadWrite: expanded(g.Write),
		Network: g.Network, Hosts: g.Hosts, Secrets: g.Secrets,
	}
	if p.Workspace == "" {
		p.Workspace = "ro"
	}
	return p
}

// expanded are paths with the operator's home in place of ~.
func expanded(paths []string) []string {
	out := slices.Clone(paths)
	for i, path := range out {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				out[i] = filepath.Join(home, rest)
			}
		}
	}
	return out
}

// output is what a command has written, and how it ended.
type output struct {
	stdout, stderr []byte
	exit           isolation.Exit
}

// run runs a program with input, and ends all that it has started when the context does.
func run(ctx context.Context, s Session, p Program, input []byte) (*output, error) {
	pipes, err := newPipes()
	if err != nil {
		return nil, err
	}
	defer pipes.close()
	p.Command.Stdin, p.Command.Stdout, p.Command.Stderr = pipes.theirs[0], pipes.theirs[1], pipes.theirs[2]
	process, err := s.Start(p)
	pipes.started()
	if err != nil {
		return nil, fmt.Errorf("could not be started: %w", err)
	}
	out := &output{}
	read := make(chan struct{}, 2)
	go func() {
		_, _ = pipes.ours[0].Write(input) // it need not read all of it, nor any
		_ = pipes.ours[0].Close()
	}()
	for i, to := range []*[]byte{&out.stdout, &out.stderr} {
		go func() {
			*to, _ = io.ReadAll(io.LimitReader(pipes.ours[i+1], maxOutput+1))
			_, _ = io.Copy(io.Discard, pipes.ours[i+1])
			read <- struct{}{}
		}()
	}
	out.exit, err = process.Wait(ctx)
	process.Kill()
	<-process.Done()
	// Where nothing ties what it has started to its end, a pipe may still be held.
	for _, f := range pipes.ours {
		_ = f.SetDeadline(time.Now().Add(time.Second))
	}
	<-read
	<-read
	if err != nil {
		return nil, fmt.Errorf("could not be run: %w", err)
	}
	return out, nil
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
		return answer{decision: deny, reason: firstOf(reason(o.stderr), "it exited with 2 and gave no reason")}, nil
	case code == 126 || code == 127:
		return answer{}, fmt.Errorf("could not be run (exit status %d)%s; it sees the workspace and what \"read\" names", code,
			o.lastWords())
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

// reason is what a hook has written for people and models, without what a terminal would take for a command.
func reason(text []byte) string {
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(text), "\uFFFD"))
	clean = strings.TrimSpace(clean)
	if len(clean) > maxReason {
		clean = strings.ToValidUTF8(clean[:maxReason], "") + " …"
	}
	return clean
}

// quoted is a command as messages show it.
func quoted(text string) string {
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}
