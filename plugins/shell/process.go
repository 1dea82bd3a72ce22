package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/picoclaw/picoclaw/internal/pty"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/sessions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

type processToolInput struct {
	Action  string `json:"action" jsonschema:"Action on background commands." enum:"list,poll,write,signal,resize,kill"`
	Session string `json:"session,omitempty" jsonschema:"Session ID from exec; for all actions but list."`
	Cursor  *int64 `json:"cursor,omitempty" jsonschema:"poll: position to read from, next of the previous poll; default: unread output."`
	Wait    int    `json:"wait,omitempty" jsonschema:"poll: seconds to wait for output or the end." minimum:"0" maximum:"50"`
	Data    string `json:"data,omitempty" jsonschema:"write: text for standard input."`
	EOF     bool   `json:"eof,omitempty" jsonschema:"write: end standard input after data."`
	Signal  string `json:"signal,omitempty" jsonschema:"signal: name or number, such as INT or TERM; sent to the command and its descendants."`
	Rows    int    `json:"rows,omitempty" jsonschema:"resize: height of the terminal." minimum:"1" maximum:"1000"`
	Cols    int    `json:"cols,omitempty" jsonschema:"resize: width of the terminal." minimum:"1" maximum:"1000"`
}

// processToolOutput is the structured result about one background command, or a list of them.
type processToolOutput struct {
	Session  string `json:"session,omitempty"`
	Command  string `json:"command,omitempty"`
	Running  *bool  `json:"running,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Signal   string `json:"signal,omitempty"`
	Why      string `json:"why,omitempty"` // it was ended
	Unread   int64  `json:"unread_bytes,omitempty"`
	Seconds  *int64 `json:"seconds,omitempty"` // since it was started

	Output string                  `json:"output,omitempty"`
	Cursor int64                   `json:"cursor,omitempty"`     // where to go on
	Lost   int64                   `json:"lost_bytes,omitempty"` // bytes before output that were read once and are no longer kept
	More   bool                    `json:"more,omitempty"`       // there is more output now
	List   []backgroundCommandInfo `json:"sessions,omitempty"`

	commandEffects // of a command that is over

	one   *backgroundCommandInfo // whom it is about, unless it is a list
	notes []string
}

// backgroundCommandInfo describes a background command in the result.
type backgroundCommandInfo struct {
	Session  string `json:"session"`
	Command  string `json:"command"`
	Running  bool   `json:"running"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Signal   string `json:"signal,omitempty"`
	Why      string `json:"why,omitempty"` // it was ended
	Unread   int64  `json:"unread_bytes,omitempty"`
	Seconds  int64  `json:"seconds"` // since it was started
}

// Text returns the polled output, and a line for each command.
func (o processToolOutput) Text() string {
	var b strings.Builder
	if o.Lost > 0 {
		fmt.Fprintf(&b, "[%d earlier bytes were read and are no longer stored]\n", o.Lost)
	}
	b.WriteString(o.Output)
	if o.Output != "" && !strings.HasSuffix(o.Output, "\n") {
		b.WriteByte('\n')
	}
	if o.one != nil {
		b.WriteString("[" + o.one.Session + " is " + o.one.describeState())
		if o.Cursor > 0 {
			fmt.Fprintf(&b, "; next: cursor=%d", o.Cursor)
		}
		for _, note := range o.notes {
			b.WriteString("\n" + note)
		}
		b.WriteString("]")
		return b.String()
	}
	for _, p := range o.List {
		fmt.Fprintf(&b, "%s  %s  %d s  %q\n", p.Session, p.describeState(), p.Seconds, p.Command)
	}
	if b.Len() == 0 {
		return "there are no background commands"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// describeState returns the state in a few words.
func (p backgroundCommandInfo) describeState() string {
	state := "ended"
	switch {
	case p.Running:
		state = "running"
	case p.Why != "":
		state = p.Why
	case p.Signal != "":
		state = "ended with signal: " + p.Signal
	case p.ExitCode != nil && *p.ExitCode != 0:
		state = fmt.Sprintf("ended with exit status %d", *p.ExitCode)
	}
	if p.Unread > 0 {
		state += fmt.Sprintf(", %d bytes unread", p.Unread)
	}
	return state
}

func (s *shellPlugin) newProcessTool() sdk.Tool {
	return sdk.NewTool("process", "List background commands, read their output, write to them, signal them, end them.", s.runProcessAction,
		sdk.Traits{
			Destructive: true, OpenWorld: true, TextResult: true, Sets: []string{"picoclaw"},
			Permissions: []string{"exec"}, Risk: "high", SideEffects: []string{"process"},
		})
}

// maxPollBytes limits the output in one poll.
const maxPollBytes = 128 << 10

func (s *shellPlugin) runProcessAction(ctx context.Context, req *sdk.Request[processToolInput]) (processToolOutput, error) {
	in := req.Args
	if in.Action == "list" {
		out := processToolOutput{}
		for _, session := range s.sessions.ListSessions() {
			out.List = append(out.List, newSessionInfo(session))
		}
		return out, nil
	}
	session, ok := s.sessions.FindSession(in.Session)
	if in.Session == "" {
		return processToolOutput{}, sdk.Errorf(sdk.InvalidArgument, "%s needs session: which background command is meant",
			in.Action).
			WithHint("exec with background=true names the command that it starts; process with action=list lists them")
	}
	if !ok {
		return processToolOutput{}, sdk.Errorf(sdk.NotFound, "there is no background command %q", in.Session).
			WithHint("process (action list) lists them; they end with the host that started them")
	}
	switch in.Action {
	case "poll":
		return pollSession(ctx, session, in, req.Exec.Limits)
	case "write":
		if req.Exec.Unwalled {
			return processToolOutput{}, sdk.Errorf(sdk.AccessDenied,
				"writing to a background command is refused: only the guard would check a shell's input").
				WithHint("set isolation.enabled, or use a kernel with Landlock (Linux 5.13)")
		}
		return writeSessionInput(req.Environment, session, in)
	case "signal":
		return signalSession(session, in)
	case "resize":
		if in.Rows == 0 || in.Cols == 0 {
			return processToolOutput{}, sdk.Errorf(sdk.InvalidArgument, "resize needs rows and cols")
		}
		if err := session.Running.Resize(pty.Size{Rows: uint16(in.Rows), Cols: uint16(in.Cols)}); err != nil {
			return processToolOutput{}, err
		}
	case "kill":
		session.StopSession("killed")
	}
	return newSessionOutput(session), nil
}

func pollSession(ctx context.Context, session *sessions.BackgroundCommand, in processToolInput, limits exec.CommandLimits) (processToolOutput, error) {
	cursor, _ := session.Ring.Cursors()
	if in.Cursor != nil {
		cursor = max(*in.Cursor, 0)
	}
	if in.Wait > 0 {
		waiting, cancel := context.WithTimeout(ctx, time.Duration(in.Wait)*time.Second)
		session.Ring.WaitForOutput(waiting, cursor, session.Running.Done())
		cancel()
	}
	if _, end := session.Ring.Cursors(); cursor > end {
		return processToolOutput{}, sdk.Errorf(sdk.InvalidArgument, "cursor %d is behind the end of the output, which is at %d",
			cursor, end)
	}
	piece, err := session.Ring.ReadOutput(cursor, maxPollBytes, session.HasEnded())
	if err != nil {
		return processToolOutput{}, fmt.Errorf("read the output of %s: %w", session.ID, err)
	}
	out := newSessionOutput(session)
	if out.ExitCode != nil && *out.ExitCode != 0 { // it has ended
		exit, _ := session.Running.ExitStatus()
		if reached := describeReachedLimits(limits, exit, string(piece.Data)); reached != "" {
			out.notes = append(out.notes, reached)
		}
	}
	out.Output, out.Cursor, out.Lost, out.More = string(piece.Data), piece.Next, piece.Lost, piece.More
	return out, nil
}

func writeSessionInput(env sdk.Environment, session *sessions.BackgroundCommand, in processToolInput) (processToolOutput, error) {
	if session.HasEnded() {
		return processToolOutput{}, sdk.Errorf(sdk.Conflict, "%s is over; nothing can be written to it", session.ID)
	}
	if err := guardTypedInput(env, session, in.Data); err != nil {
		return processToolOutput{}, err
	}
	if in.Data != "" {
		n, err := session.Running.Write([]byte(in.Data))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return processToolOutput{}, sdk.Errorf(sdk.Timeout, "%s has read %d of %d bytes and takes no more now", session.ID, n,
				len(in.Data)).
				WithHint("poll its output, and write the rest later")
		}
		if err != nil {
			return processToolOutput{}, sdk.Errorf(sdk.Conflict, "write to %s: %v", session.ID, err)
		}
	}
	if in.EOF {
		if err := session.Running.CloseInput(); err != nil {
			return processToolOutput{}, fmt.Errorf("end the input of %s: %w", session.ID, err)
		}
	}
	return newSessionOutput(session), nil
}

func signalSession(session *sessions.BackgroundCommand, in processToolInput) (processToolOutput, error) {
	sig, ok := parseSignal(cmp.Or(in.Signal, "TERM"))
	if !ok {
		return processToolOutput{}, sdk.Errorf(sdk.InvalidArgument, "signal %q is none that a command can be sent", in.Signal).
			WithHint("there are %s, also by their numbers", strings.Join(slices.Sorted(maps.Keys(supportedSignals)), ", "))
	}
	if err := session.Running.SignalAll(sig); err != nil {
		return processToolOutput{}, fmt.Errorf("signal %s: %w", session.ID, err)
	}
	return newSessionOutput(session), nil
}

// parseSignal returns the signal with a name or number, such as INT, SIGINT or 2.
func parseSignal(name string) (syscall.Signal, bool) {
	if number, err := strconv.Atoi(name); err == nil {
		for _, sig := range supportedSignals {
			if int(sig) == number {
				return sig, true
			}
		}
		return 0, false
	}
	sig, ok := supportedSignals[strings.TrimPrefix(strings.ToUpper(name), "SIG")]
	return sig, ok
}

func newSessionOutput(session *sessions.BackgroundCommand) processToolOutput {
	state := newSessionInfo(session)
	out := processToolOutput{
		Session: state.Session, Command: state.Command, Running: &state.Running, ExitCode: state.ExitCode,
		Signal: state.Signal,
		Why:    state.Why, Unread: state.Unread, Seconds: &state.Seconds, one: &state,
	}
	if !state.Running {
		out.commandEffects, out.notes = describeEffects(session.Outcome)
	}
	return out
}

func newSessionInfo(session *sessions.BackgroundCommand) backgroundCommandInfo {
	fetched, end := session.Ring.Cursors()
	state := backgroundCommandInfo{
		Session: session.ID, Command: session.Command, Running: !session.HasEnded(),
		Unread: end - fetched, Seconds: int64(time.Since(session.Began).Seconds()),
	}
	if state.Running {
		return state
	}
	exit, _ := session.Running.ExitStatus()
	state.ExitCode, state.Why = &exit.Code, session.StopReason()
	if exit.Exceeded != "" {
		state.Why = "ended: it used " + exit.Exceeded
	}
	if exit.Signal != nil {
		state.Signal = exit.Signal.String()
	}
	return state
}

// newGuardCommand returns a call's command in the form in which the host passed it to the guard.
func newGuardCommand(req *sdk.Request[execInput]) guard.Command {
	c := guard.Command{Text: req.Args.Command, Dir: req.Args.Cwd, Env: maps.Clone(req.Args.Env)}
	c.Undoable = true // where it is not, the policy that is sent doesn't ask
	if c.Env == nil {
		c.Env = make(map[string]string)
	}
	if _, ok := c.Env["HOME"]; !ok {
		c.Env["HOME"] = os.Getenv("HOME")
	}
	if pinned, err := guard.FindShell(); err == nil {
		c.Dialect = pinned.Dialect
	}
	return c
}

// guardTypedInput asks the guard about input for a background command, and records the input. The guard decides as if
// the command had received all its input at the start.
func guardTypedInput(env sdk.Environment, session *sessions.BackgroundCommand, data string) error {
	if data == "" || session.PTY && strings.Trim(data, interruptKeys) == "" {
		return nil
	}
	return session.UpdateInput(func(earlier string) (string, error) {
		openLine := earlier[strings.LastIndexByte(earlier, '\n')+1:] // data continues this line
		earlier = lastLines(earlier, max(guard.MaxCommandLength-len(data), len(openLine)))
		d, cause := decideInput(env, session, earlier, data)
		if d.Rule == "exec.too-long" || d.Rule == "exec.too-complex" {
			earlier = openLine // the earlier input is too long or too complex
			d, cause = decideInput(env, session, earlier, data)
		}
		if d.Verdict != guard.Allow && cause {
			hint := d.Hint
			if d.Rule == "exec.syntax" {
				hint = "write whole commands at a time, up to the end of their last line"
			}
			return "", (&sdk.Error{Code: sdk.AccessDenied, Message: d.Reason, Rule: d.Rule}).WithHint("%s", hint)
		}
		return lastLines(earlier+data, guard.MaxCommandLength), nil
	})
}

// decideInput decides on a command with earlier and new input. cause reports whether the new input matters.
func decideInput(env sdk.Environment, session *sessions.BackgroundCommand, earlier, data string) (d guard.Decision, cause bool) {
	command := session.Given
	command.Stdin = effectiveInput(session, earlier)
	before := env.Guard.DecideCommand(command)
	command.Stdin = effectiveInput(session, earlier+data)
	d = env.Guard.DecideCommand(command)
	return d, d.Rule != before.Rule || d.Reason != before.Reason
}

// lastLines returns the last whole lines of a text, up to a number of bytes.
func lastLines(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	cut := len(text) - maxBytes
	if text[cut-1] == '\n' {
		return text[cut:]
	}
	return text[cut+strings.IndexByte(text[cut:], '\n')+1:]
}

// interruptKeys are terminal keys that only interrupt, end or suspend: ^C, ^D, ^Z and ^\.
const interruptKeys = "\x03\x04\x1a\x1c"

// effectiveInput returns input as the command reads it. A line with editing keys is unknown and becomes a NUL.
func effectiveInput(session *sessions.BackgroundCommand, data string) string {
	if !session.PTY {
		return data
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r != '\n' && r < ' ' || r == 0x7f:
			return 0
		}
		return r
	}, data)
}
