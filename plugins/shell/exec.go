package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/pty"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/command"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/output"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/sessions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

type execInput struct {
	Command        string            `json:"command" jsonschema:"The shell command to run." claim:"command"`
	Cwd            string            `json:"cwd,omitempty" jsonschema:"The directory to run it in, inside the workspace. Defaults to the workspace." claim:"cwd"`
	Timeout        int               `json:"timeout,omitempty" jsonschema:"Seconds until the command is ended; default: the configured maximum, or no limit for background commands." minimum:"1"`
	Env            map[string]string `json:"env,omitempty" jsonschema:"Environment variables to add." claim:"env"`
	Stdin          string            `json:"stdin,omitempty" jsonschema:"Text for standard input, followed by end of file." claim:"stdin"`
	Background     bool              `json:"background,omitempty" jsonschema:"Start the command and return at once; the process tool controls it."`
	PTY            bool              `json:"pty,omitempty" jsonschema:"Run on a terminal; stdout and stderr are one stream."`
	ProtectedPaths []string          `json:"protected_paths,omitempty" jsonschema:"Protected files to change, such as .git/config; a person must approve." claim:"protected"`
	Rows           int               `json:"rows,omitempty" jsonschema:"Height of the terminal." minimum:"1" maximum:"1000"`
	Cols           int               `json:"cols,omitempty" jsonschema:"Width of the terminal." minimum:"1" maximum:"1000"`
}

// terminalSize returns the size of the requested terminal; nil if none is requested.
func (in execInput) terminalSize() *pty.Size {
	if !in.PTY {
		return nil
	}
	return &pty.Size{Rows: uint16(cmp.Or(in.Rows, 24)), Cols: uint16(cmp.Or(in.Cols, 80))}
}

type execOutput struct {
	ExitCode   int    `json:"exit_code"`
	Signal     string `json:"signal,omitempty"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	Output     string `json:"output"` // both streams, interleaved
	Millis     int64  `json:"duration_ms"`
	Truncated  int64  `json:"truncated_bytes,omitempty"` // omitted bytes in the middle of the output
	OutputFile string `json:"whole_output,omitempty"`    // path of the complete output, for read_file
	Session    string `json:"session,omitempty"`         // id of a background command, for the tool process
	Note       string `json:"note,omitempty"`

	commandEffects
}

// Text returns the output followed by the notes.
func (o execOutput) Text() string {
	if o.Note == "" {
		return o.Output
	}
	text := o.Output
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + "[" + o.Note + "]"
}

func (s *shellPlugin) newExecTool() sdk.Tool {
	return sdk.NewTool("exec", "Run a shell command in the workspace and return its output.", s.runCommand,
		sdk.Traits{
			Destructive: true, OpenWorld: true, TextResult: true, Sets: []string{"picoclaw"},
			Permissions: []string{"exec"}, Risk: "high", SideEffects: []string{"process"},
		})
}

func (s *shellPlugin) runCommand(ctx context.Context, req *sdk.Request[execInput]) (execOutput, error) {
	if strings.TrimSpace(req.Args.Command) == "" {
		return execOutput{}, sdk.Errorf(sdk.InvalidArgument,
			"there is no command to run").WithHint("command is the line that the shell shall run")
	}
	if req.Args.Background {
		return s.startBackgroundCommand(req)
	}
	record := output.NewOutputRecorder(func() (output.OutputFile, error) { return output.NewOutputFile(req.Workspace.Dir()) })
	live := output.NewLiveForwarder(req.SendStdout, req.SendStderr)
	running, err := s.startCommand(req, func(stream int, p []byte) {
		record.AddBytes(stream, p)
		live.AddBytes(stream, p)
	})
	if err != nil {
		live.Close()
		return execOutput{}, err
	}
	if req.Args.Stdin != "" {
		running.WriteAndCloseInput(req.Args.Stdin)
	}
	ended := waitForCommand(ctx, running.RunningCommand, effectiveTimeout(req.Exec.Timeout, req.Args.Timeout))
	<-running.Done()
	live.Close()
	exit, err := running.ExitStatus()
	if err != nil && ended == nil {
		return execOutput{}, fmt.Errorf("wait for the command: %w", err)
	}
	out := newExecOutput(record, exit)
	out.Millis = time.Since(running.Began).Milliseconds()
	out.addNote(s.noSandboxNoteOnce(req.Environment))
	done, notes := describeEffects(&running.WorkspaceEffects)
	out.commandEffects = done
	out.addNote(strings.Join(notes, "\n"))
	if ended == nil {
		ended = newExitError(exit)
	}
	return out, addLimitHints(ended, &out, exit, req)
}

// waitForCommand waits for a command. On a timeout or cancellation it stops the command and returns an error.
func waitForCommand(ctx context.Context, running *command.RunningCommand, limit time.Duration) *sdk.Error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var why *sdk.Error
	select {
	case <-running.Done():
		return nil
	case <-timer.C:
		why = sdk.Errorf(sdk.Timeout, "command timed out after %s", limit)
	case <-ctx.Done():
		why = sdk.Errorf(sdk.Cancelled, "the command was cancelled")
	}
	running.StopCommand()
	return why
}

// newExecOutput returns the result of a finished command.
func newExecOutput(record *output.OutputRecorder, exit isolation.ExitStatus) execOutput {
	out := execOutput{ExitCode: exit.Code}
	if exit.Signal != nil {
		out.Signal = exit.Signal.String()
	}
	out.Output, out.Stdout, out.Stderr = record.Texts()
	rest := record.Finish()
	out.Truncated, out.OutputFile = rest.Missing, rest.File
	switch {
	case rest.Missing == 0:
		out.OutputFile = ""
	case rest.File == "":
		out.addNote(fmt.Sprintf("%d bytes of the output are omitted and could not be saved: %v", rest.Missing, rest.Err))
	case rest.Written < rest.Total:
		out.addNote(fmt.Sprintf("%d bytes are left out; the first %d bytes of the output are in %s, for read_file or grep",
			rest.Missing, rest.Written, rest.File))
	default:
		out.addNote(fmt.Sprintf("%d bytes are left out; the whole output is in %s, for read_file or grep", rest.Missing,
			rest.File))
	}
	return out
}

func (o *execOutput) addNote(text string) {
	if o.Note != "" && text != "" {
		o.Note += "\n"
	}
	o.Note += text
}

// newExitError returns the error for a command that failed; nil for success.
func newExitError(exit isolation.ExitStatus) *sdk.Error {
	switch {
	case exit.Exceeded != "":
		return sdk.Errorf("limit_exceeded", "the command was ended: it used %s", exit.Exceeded)
	case !exit.Success():
		return &sdk.Error{Code: "exit_status", Message: exit.String()}
	}
	return nil
}

// addLimitHints adds the limits that a command reached, the timeout among them, to its error. For a command without an
// error it adds a note with the limits that standard error reports.
func addLimitHints(ended *sdk.Error, out *execOutput, exit isolation.ExitStatus, req *sdk.Request[execInput]) error {
	if ended == nil {
		if reached := describeReachedLimits(req.Exec.Limits, exit, out.Stderr); reached != "" {
			out.addNote(reached)
		}
		return nil
	}
	var hints []string
	if ended.Code == sdk.Timeout {
		hints = append(hints, timeoutHint(req.Exec, req.Args.Timeout))
	}
	if reached := describeReachedLimits(req.Exec.Limits, exit, out.Output); reached != "" {
		hints = append(hints, reached)
	}
	return ended.WithHint("%s", strings.Join(hints, "; "))
}

// exitFileTooLarge is the exit code after SIGXFSZ, of a command or of the shell that ran it.
const exitFileTooLarge = 128 + 25

// describeReachedLimits names the limits that a command reached, by its exit status and output; "" for none.
func describeReachedLimits(l exec.CommandLimits, exit isolation.ExitStatus, output string) string {
	if exit.Code == exitFileTooLarge {
		output += " SIGXFSZ"
	}
	if keys := l.ReachedLimitKeys(exit.Exceeded, output); len(keys) > 0 {
		return "the command reached " + strings.Join(keys, " and ") + ", which the operator may raise"
	}
	return ""
}

// startBackgroundCommand starts a command in a session and returns without waiting for it.
func (s *shellPlugin) startBackgroundCommand(req *sdk.Request[execInput]) (execOutput, error) {
	session, err := s.sessions.StartSession(func() (*sessions.BackgroundCommand, error) {
		ring, err := output.NewOutputRing(os.TempDir())
		if err != nil {
			return nil, fmt.Errorf("make room for the command's output: %w", err)
		}
		running, err := s.startCommand(req, func(_ int, p []byte) { ring.AddBytes(p) })
		if err != nil {
			_ = ring.Close()
			return nil, err
		}
		return &sessions.BackgroundCommand{Command: req.Args.Command, PTY: req.Args.PTY, Running: running.RunningCommand, Ring: ring,
			Began: running.Began, Outcome: &running.WorkspaceEffects,
			Given: newGuardCommand(req), Input: req.Args.Stdin}, nil
	})
	if errors.Is(err, sessions.ErrFull) {
		return execOutput{}, sdk.Errorf(sdk.Conflict, "%v", err).WithHint("end one with process (action kill)")
	}
	if err != nil {
		return execOutput{}, err
	}
	if req.Args.Stdin != "" {
		session.Running.WriteAndCloseInput(req.Args.Stdin)
	}
	if req.Args.Timeout > 0 {
		limit := time.Duration(req.Args.Timeout) * time.Second
		go func() {
			select {
			case <-session.Running.Done():
			case <-time.After(limit):
				session.StopSession("timed out after " + limit.String())
			}
		}()
	}
	out := execOutput{Session: session.ID}
	out.addNote("started in the background as " + session.ID + "; process (action poll, session " + session.ID +
		") reads its output")
	out.addNote(s.noSandboxNoteOnce(req.Environment))
	return out, nil
}

// effectiveTimeout returns the requested timeout, limited to the operator's.
func effectiveTimeout(configured time.Duration, asked int) time.Duration {
	if configured <= 0 {
		configured = time.Minute
	}
	if limit := time.Duration(asked) * time.Second; asked > 0 && limit < configured {
		return limit
	}
	return configured
}

// timeoutHint returns the remedy for a command that reached its timeout.
func timeoutHint(settings exec.CommandSettings, asked int) string {
	key := cmp.Or(settings.TimeoutKey, "tools.exec.timeout_seconds")
	maximum := effectiveTimeout(settings.Timeout, 0)
	longer := fmt.Sprintf("the maximum is %s (%s), which the operator may raise", key, maximum)
	switch limit := time.Duration(asked) * time.Second; {
	case asked > 0 && limit < maximum:
		longer = fmt.Sprintf("use a longer timeout, up to %s (%s)", key, maximum)
	case limit > maximum:
		longer = fmt.Sprintf("the timeout %s exceeds %s (%s)", limit, key, maximum)
	}
	return longer + "; run it in parts, or in the background"
}

// commandEffects are the effects of a command on the workspace: changes, refusals and quarantined files.
type commandEffects struct {
	Changes     *workspaceChanges `json:"changes,omitempty"`      // changed files
	NotCovered  []string          `json:"not_covered,omitempty"`  // changes that undo can't restore
	Protected   []string          `json:"protected,omitempty"`    // refused changes of protected files
	PutAside    []string          `json:"put_aside,omitempty"`    // new names of quarantined files
	EntryPoints []string          `json:"entry_points,omitempty"` // protected files in new repositories
	Undone      bool              `json:"undone,omitempty"`       // all changes were undone at once

	Conflicts []undo.PathConflict `json:"conflicts,omitempty"` // paths that this undo did not restore
}

// UndoID returns the id in the undo history.
func (e commandEffects) UndoID() string {
	if e.Changes == nil {
		return ""
	}
	return e.Changes.Undo
}

// workspaceChanges lists the files that a command changed in the workspace.
type workspaceChanges struct {
	Undo string `json:"undo,omitempty"` // id of the operation, for undo
	undo.ChangeSummary
}

// describeEffects returns the effects of a finished command as structured result, and as notes.
func describeEffects(o *sessions.WorkspaceEffects) (out commandEffects, notes []string) {
	if c := o.Changes.Changes; c.Made+c.Changed+c.Moved+c.Deleted > 0 {
		out.Changes = &workspaceChanges{Undo: o.Changes.ID, ChangeSummary: c}
	}
	out.NotCovered = o.Changes.Lost
	if o.Changes.Missing != "" && !slices.Contains(o.Changes.Lost, o.Changes.Missing) {
		out.NotCovered = append([]string{o.Changes.Missing}, o.Changes.Lost...)
	}
	out.Protected, out.PutAside, out.EntryPoints = o.Protected.Refused, o.Protected.Aside, o.Protected.EntryPoints
	notes = o.Protected.FormatNotes()
	const half = "git was refused a change and may have left half of its work"
	if done := o.Undone; done != nil && o.UndoError != nil {
		out.Conflicts = done.Conflicts
		notes = append(notes, fmt.Sprintf("%s; undo of this command failed: %v; undo %s tries again", half, o.UndoError, o.Changes.ID))
	} else if done != nil {
		out.Undone, out.Conflicts, out.Changes.Undo = true, done.Conflicts, done.Ended.ID
		notes = append(notes, half+", so all changes of this command were undone")
		if len(done.Conflicts) > 0 {
			notes = append(notes, undo.FormatConflicts(done.Conflicts))
		}
		if len(done.LostMetadata) > 0 {
			notes = append(notes, "restored without some metadata: "+strings.Join(done.LostMetadata, ", "))
		}
	} else if out.Changes != nil && out.Changes.Undo != "" && len(out.Protected) > 0 {
		notes = append(notes, "other changes by the command remain ("+strings.Join(out.Changes.Names, ", ")+"); undo of "+out.Changes.Undo+" reverts them")
	}
	if len(out.NotCovered) > 0 {
		notes = append(notes, "not covered by undo: "+strings.Join(out.NotCovered, ", "))
	}
	return out, notes
}
