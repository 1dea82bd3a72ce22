package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/sdk"
)

type processInput struct {
	Action  string `json:"action" jsonschema:"list; poll: output from cursor on; write: data to its input; signal; resize its terminal; kill: end it" enum:"list,poll,write,signal,resize,kill"`
	Session string `json:"session,omitempty" jsonschema:"The background command; all but list need it."`
	Cursor  int64  `json:"cursor,omitempty" jsonschema:"poll: where to go on, which the last answer says; what is before it is not kept any longer. Not given, from the first output that is kept." minimum:"0"`
	Wait    int    `json:"wait,omitempty" jsonschema:"poll: seconds to wait for output if there is none." minimum:"0" maximum:"60"`
	Data    string `json:"data,omitempty" jsonschema:"write: the text; no newline is added."`
	EOF     bool   `json:"eof,omitempty" jsonschema:"write: end the input after data."`
	Signal  string `json:"signal,omitempty" jsonschema:"signal: its name, such as INT or TERM."`
	Rows    int    `json:"rows,omitempty" minimum:"1" maximum:"1000"`
	Cols    int    `json:"cols,omitempty" minimum:"1" maximum:"1000"`
}

type processOutput struct {
	Session  string          `json:"session,omitempty"`
	Output   string          `json:"output,omitempty"`
	Cursor   int64           `json:"cursor,omitempty" jsonschema:"Where to go on."`
	More     bool            `json:"more,omitempty" jsonschema:"There is more output now."`
	Running  bool            `json:"running"`
	ExitCode *int            `json:"exit_code,omitempty"`
	Signal   string          `json:"signal,omitempty"`
	Why      string          `json:"why,omitempty" jsonschema:"Why it was ended."`
	Lost     int64           `json:"lost_bytes,omitempty"`
	Sessions []listedSession `json:"sessions,omitempty"`

	text string
}

type listedSession struct {
	Session string `json:"session"`
	Command string `json:"command"`
	State   string `json:"state"`
	Seconds int64  `json:"seconds" jsonschema:"Since it was started."`
	Bytes   int64  `json:"bytes" jsonschema:"Of output."`
}

// Text is the output, and a last line about the command.
func (o processOutput) Text() string { return o.text }

func processTool(s *sessions) sdk.Tool {
	return sdk.NewTool("process", "Read from, write to, signal and end background commands.",
		func(ctx context.Context, req *sdk.Request[processInput]) (processOutput, error) {
			if req.Args.Action == "list" {
				return s.list(), nil
			}
			one, err := s.find(req.Args.Session)
			if err != nil {
				return processOutput{}, err
			}
			switch req.Args.Action {
			case "poll":
				return one.poll(ctx, req.Args)
			case "write":
				err = one.write(ctx, req.Args)
			case "signal":
				err = one.signal(req.Args.Signal)
			case "resize":
				err = one.resize(req.Args.Rows, req.Args.Cols)
			case "kill":
				one.stop("killed")
				<-one.over
			}
			if err != nil {
				return processOutput{}, err
			}
			return one.describe(processOutput{}), nil
		},
		sdk.Destructive(), sdk.OpenWorld(), sdk.Sets("picoclaw"),
		sdk.Permissions("exec"), sdk.Risk("high"), sdk.SideEffects("process"))
}

func (s *sessions) list() processOutput {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := processOutput{Sessions: []listedSession{}}
	var lines []string
	for _, one := range s.sorted() {
		size, _ := one.spool.state()
		l := listedSession{
			Session: one.id, Command: one.command, State: one.state(), Seconds: int64(time.Since(one.began).Seconds()), Bytes: size,
		}
		out.Sessions = append(out.Sessions, l)
		lines = append(lines, fmt.Sprintf("%s  %s  %d s  %d bytes  %q", l.Session, l.State, l.Seconds, l.Bytes, l.Command))
	}
	if out.text = strings.Join(lines, "\n"); out.text == "" {
		out.text = "there are no background commands"
	}
	return out
}

// state says in a few words what a command is doing.
func (s *session) state() string {
	exit, why := s.ended()
	switch {
	case exit == nil:
		return "running"
	case why != "":
		return why
	case exit.Success():
		return "ended"
	}
	return "ended with " + exit.String()
}

// describe adds how the command is.
func (s *session) describe(out processOutput) processOutput {
	out.Session = s.id
	exit, why := s.ended()
	if out.Running = exit == nil; exit != nil {
		out.ExitCode, out.Why = &exit.Code, why
		if exit.Signal != nil {
			out.Signal = exit.Signal.String()
		}
	}
	_, out.Lost = s.spool.state()
	out.text = out.Output
	if out.text != "" && !strings.HasSuffix(out.text, "\n") {
		out.text += "\n"
	}
	out.text += fmt.Sprintf("[%s is %s", s.id, s.state())
	if out.Cursor > 0 {
		out.text += fmt.Sprintf("; next: cursor=%d", out.Cursor)
	}
	out.text += "]"
	return out
}

// pollBytes is how much output one answer has at most.
const pollBytes = 64 << 10

func (s *session) poll(ctx context.Context, in processInput) (processOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(in.Wait)*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, s.spool.wake)()
	data, next, err := s.spool.next(in.Cursor, pollBytes, func() bool { return ctx.Err() != nil })
	if err != nil {
		return processOutput{}, sdk.Errorf(sdk.InvalidArgument, "%v", err)
	}
	out := processOutput{Output: strings.ToValidUTF8(string(data), "\uFFFD"), Cursor: next}
	size, _ := s.spool.state()
	out.More = size > next
	return s.describe(out), nil
}

// writeGrace is how long a command may take to read what is written to it.
const writeGrace = 5 * time.Second

func (s *session) write(ctx context.Context, in processInput) error {
	if exit, _ := s.ended(); exit != nil || s.input == nil {
		return sdk.Errorf(sdk.Conflict, "%s is %s; nothing can be written to it", s.id, s.state())
	}
	deadline := time.Now().Add(writeGrace)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := s.input.SetWriteDeadline(deadline); err != nil {
		return sdk.Errorf(sdk.Conflict, "the input of %s has ended", s.id)
	}
	if n, err := s.input.WriteString(in.Data); err != nil {
		return sdk.Errorf(sdk.Conflict, "%s has taken %d of %d bytes: %v", s.id, n, len(in.Data), err)
	}
	if !in.EOF {
		return nil
	}
	if s.pty {
		_, err := s.input.WriteString("\x04") // what ends the input on a terminal
		return err
	}
	return s.input.Close()
}

func (s *session) signal(name string) error {
	all := signals()
	sig, ok := all[strings.TrimPrefix(strings.ToUpper(name), "SIG")]
	if !ok {
		return sdk.Errorf(sdk.InvalidArgument, "there is no signal %q", name).
			WithHint("there are %s", strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	if err := s.process.Signal(sig); err != nil {
		return sdk.Errorf(sdk.Conflict, "%s is %s", s.id, s.state())
	}
	return nil
}

func (s *session) resize(rows, cols int) error {
	if !s.pty {
		return sdk.Errorf(sdk.InvalidArgument, "%s has no terminal", s.id).WithHint("start it with pty=true")
	}
	if rows == 0 || cols == 0 {
		return sdk.Errorf(sdk.InvalidArgument, "resize needs rows and cols")
	}
	return resizeTerminal(s.input, rows, cols)
}
