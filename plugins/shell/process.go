package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/plugins/shell/internal/pty"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/sessions"
	"github.com/picoclaw/picoclaw/sdk"
)

type processInput struct {
	Action string `json:"action" jsonschema:"What to do with the commands that run in the background." enum:"list,poll,write,signal,resize,kill"`
	ID     string `json:"id,omitempty" jsonschema:"The process, as exec has named it; for all actions but list."`
	Cursor *int64 `json:"cursor,omitempty" jsonschema:"poll: where to read from; the next of the poll before. Defaults to what nobody has read yet."`
	Wait   int    `json:"wait,omitempty" jsonschema:"poll: seconds to wait for output or the end." minimum:"0" maximum:"50"`
	Data   string `json:"data,omitempty" jsonschema:"write: text for its standard input."`
	EOF    bool   `json:"eof,omitempty" jsonschema:"write: end its standard input after data."`
	Signal string `json:"signal,omitempty" jsonschema:"signal: which one, to the process and all that it started." enum:"TERM,INT,HUP,QUIT,USR1,USR2,STOP,CONT,KILL"`
	Rows   int    `json:"rows,omitempty" jsonschema:"resize: height of the terminal." minimum:"1" maximum:"1000"`
	Cols   int    `json:"cols,omitempty" jsonschema:"resize: width of the terminal." minimum:"1" maximum:"1000"`
}

type processOutput struct {
	Processes []processState `json:"processes,omitempty"`
	Output    string         `json:"output,omitempty"`
	Next      int64          `json:"next,omitempty"`       // the cursor of what comes after output
	Lost      int64          `json:"lost_bytes,omitempty"` // bytes that were read once and are no longer kept
	More      bool           `json:"more,omitempty"`       // there is more to read already
	Process   *processState  `json:"process,omitempty"`
}

type processState struct {
	ID       string `json:"id"`
	Command  string `json:"command"`
	Running  bool   `json:"running"`
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
	Ended    string `json:"ended,omitempty"` // the limit that it was ended for
	PTY      bool   `json:"pty,omitempty"`
	Unread   int64  `json:"unread_bytes"`
	Seconds  int64  `json:"running_seconds"`
}

// Text is what was read, and a line for each process.
func (o processOutput) Text() string {
	var b strings.Builder
	b.WriteString(o.Output)
	if o.Output != "" && !strings.HasSuffix(o.Output, "\n") {
		b.WriteByte('\n')
	}
	if o.Lost > 0 {
		fmt.Fprintf(&b, "[%d bytes before this were read already and are no longer kept]\n", o.Lost)
	}
	if o.Process != nil {
		b.WriteString("[" + o.Process.line())
		if o.Process.Running || o.More {
			fmt.Fprintf(&b, "; next cursor %d", o.Next)
		}
		b.WriteString("]")
	}
	for n, p := range o.Processes {
		if n > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.line() + ": " + strings.Join(strings.Fields(p.Command), " "))
	}
	if b.Len() == 0 {
		return "no processes in the background"
	}
	return b.String()
}

func (p processState) line() string {
	state := "running for " + (time.Duration(p.Seconds) * time.Second).String()
	switch {
	case p.Running:
	case p.Ended != "":
		state = "ended: it used " + p.Ended
	case p.Signal != "":
		state = "ended: signal: " + p.Signal
	default:
		state = fmt.Sprintf("ended: exit status %d", p.ExitCode)
	}
	if p.Unread > 0 {
		state += fmt.Sprintf(", %d bytes unread", p.Unread)
	}
	return p.ID + " " + state
}

func (s *shell) processTool() sdk.Tool {
	return sdk.NewTool("process", "List the commands that run in the background, read their output, write to them, send them signals, end them.", s.process,
		sdk.Destructive(), sdk.OpenWorld(), sdk.Sets("picoclaw"),
		sdk.Permissions("exec"), sdk.Risk("high"), sdk.SideEffects("process"))
}

// pollBytes is how much one poll returns at most.
const pollBytes = 128 << 10

func (s *shell) process(ctx context.Context, req *sdk.Request[processInput]) (processOutput, error) {
	in := req.Args
	if in.Action == "list" {
		out := processOutput{}
		for _, session := range s.sessions.List(req.Agent) {
			out.Processes = append(out.Processes, stateOf(session))
		}
		return out, nil
	}
	session, ok := s.sessions.Find(req.Agent, in.ID)
	if !ok {
		return processOutput{}, sdk.Errorf(sdk.NotFound, "there is no process %q", in.ID).
			WithHint("process (action list) lists them; they end with the host that started them")
	}
	switch in.Action {
	case "poll":
		return poll(ctx, session, in)
	case "write":
		if req.Exec.Unwalled {
			return processOutput{}, sdk.Errorf(sdk.AccessDenied, "writing to a process is refused: nothing but the guard would see what a shell is told").
				WithHint("set isolation.enabled, or use a kernel with Landlock (Linux 5.13)")
		}
		return write(session, in)
	case "signal":
		return signal(session, in)
	case "resize":
		if err := session.Running.Resize(pty.Size{Rows: uint16(cmp.Or(in.Rows, 24)), Cols: uint16(cmp.Or(in.Cols, 80))}); err != nil {
			return processOutput{}, err
		}
	case "kill":
		session.Running.End()
		session.Ring.Stop() // nobody has to read what is killed
		<-session.Running.Over()
	}
	return about(session), nil
}

func poll(ctx context.Context, session *sessions.Session, in processInput) (processOutput, error) {
	cursor, _ := session.Ring.Fetched()
	if in.Cursor != nil {
		cursor = max(*in.Cursor, 0)
	}
	if in.Wait > 0 {
		waiting, cancel := context.WithTimeout(ctx, time.Duration(in.Wait)*time.Second)
		session.Ring.Await(waiting, cursor, session.Running.Over())
		cancel()
	}
	piece, err := session.Ring.Read(cursor, pollBytes)
	if err != nil {
		return processOutput{}, fmt.Errorf("read the output of %s: %w", session.ID, err)
	}
	out := about(session)
	out.Output, out.Next, out.Lost, out.More = string(piece.Data), piece.Next, piece.Lost, piece.More
	return out, nil
}

func write(session *sessions.Session, in processInput) (processOutput, error) {
	if in.Data != "" {
		n, err := session.Running.Write([]byte(in.Data))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return processOutput{}, sdk.Errorf(sdk.Timeout, "%s has read %d of %d bytes and takes no more now", session.ID, n, len(in.Data)).
				WithHint("poll its output, and write the rest later")
		}
		if err != nil {
			return processOutput{}, fmt.Errorf("write to %s: %w", session.ID, err)
		}
	}
	if in.EOF {
		if err := session.Running.CloseInput(); err != nil {
			return processOutput{}, fmt.Errorf("end the input of %s: %w", session.ID, err)
		}
	}
	return about(session), nil
}

func signal(session *sessions.Session, in processInput) (processOutput, error) {
	sig, ok := signals[cmp.Or(in.Signal, "TERM")]
	if !ok {
		return processOutput{}, sdk.Errorf(sdk.InvalidArgument, "this system has no signal %s", in.Signal)
	}
	if err := session.Running.Signal(sig); err != nil {
		return processOutput{}, fmt.Errorf("signal %s: %w", session.ID, err)
	}
	return about(session), nil
}

func about(session *sessions.Session) processOutput {
	state := stateOf(session)
	return processOutput{Process: &state}
}

func stateOf(session *sessions.Session) processState {
	fetched, end := session.Ring.Fetched()
	state := processState{
		ID: session.ID, Command: session.Command, PTY: session.PTY, Running: !session.IsOver(),
		Unread: end - fetched, Seconds: int64(time.Since(session.Began).Seconds()),
	}
	if !state.Running {
		exit, _ := session.Running.Exit()
		state.ExitCode, state.Ended = exit.Code, exit.Exceeded
		if exit.Signal != nil {
			state.Signal = exit.Signal.String()
		}
	}
	return state
}
