package call

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/results"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// BatchOptions are the options of `picoclaw batch`.
type BatchOptions struct {
	*cli.Factory
	jobs int
}

func NewCmdBatch(f *cli.Factory, runF func(*BatchOptions) error) *cobra.Command {
	o := &BatchOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "batch",
		Short: "Call tools from JSON lines on standard input",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.jobs < 1 || o.jobs > 256 {
				return cli.UsageErrorf("--jobs %d: want 1 to 256", o.jobs)
			}
			return cli.NoArguments(cmd, args)
		},
	}
	cmd.Flags().IntVar(&o.jobs, "jobs", 1, "number of concurrent calls")
	return cli.SetRunContext(cmd, o, (*BatchOptions).runBatch, runF)
}

func (o *BatchOptions) runBatch(ctx context.Context) error {
	sessions, done, err := openAgentSessions(o.Factory, (*session.Host).OpenSession)
	if err != nil {
		return err
	}
	defer done()
	if err := sessions.host.PrepareForCalls(); err != nil {
		return cli.StartError(err)
	}
	return answerStdinLines(o.Factory, o.jobs, func(line []byte) any { return sessions.runCall(ctx, line) })
}

// agentSessions holds one session for each agent in a batch.
type agentSessions struct {
	host *session.Host
	open hosts.SessionOpener

	mu      sync.Mutex
	byAgent map[string]*session.Session
}

func openAgentSessions(f *cli.Factory, open hosts.SessionOpener) (s *agentSessions, done func(), err error) {
	h, err := hosts.OpenHost(f, "")
	if err != nil {
		return nil, nil, err
	}
	return &agentSessions{host: h.Host, open: open, byAgent: make(map[string]*session.Session)}, func() { hosts.CloseHost(f, h) }, nil
}

// openSession returns the session of an agent, and opens it for the agent's first call.
func (s *agentSessions) openSession(agent string) (*session.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sess := s.byAgent[agent]; sess != nil {
		return sess, nil
	}
	sess, err := s.open(s.host, agent, session.CLI)
	if err == nil {
		s.byAgent[agent] = sess
	}
	return sess, err
}

// parseCall parses a line and returns the call with the session of its agent.
func (s *agentSessions) parseCall(line []byte) (batchCall, *session.Session, *session.Error) {
	in, err := parseBatchCall(line)
	if err != nil {
		return in, nil, &session.Error{Code: pluginpb.CodeInvalidArgument,
			Message: fmt.Sprintf("the line is not a call: %v", err),
			Hint:    `a line looks like {"id":1,"tool":"read_file","args":{"path":"go.mod"}}`}
	}
	sess, err := s.openSession(in.Agent)
	if err != nil {
		return in, nil, &session.Error{Code: pluginpb.CodeInvalidArgument, Message: err.Error()}
	}
	return in, sess, nil
}

// runCall makes the call in a line and returns the JSON output.
func (s *agentSessions) runCall(ctx context.Context, line []byte) any {
	in, sess, e := s.parseCall(line)
	if e != nil {
		return results.CallResult{ID: in.ID, Error: e}
	}
	out := results.NewCallResult(sess.Call(ctx, in.Tool, in.Args, nil))
	out.ID = in.ID
	return out
}

// maxLineBytes is the maximum length of a line in a batch.
const maxLineBytes = pluginpb.MaxArgumentBytes + 4096

// answerStdinLines prints the answer to each line of standard input, with a number of concurrent jobs.
func answerStdinLines(f *cli.Factory, jobs int, answer func(line []byte) any) error {
	var writing sync.Mutex
	var unwritten error
	progress := newBatchProgress(f)
	defer progress.stop()
	write := func(v any, bytes int) {
		writing.Lock()
		defer writing.Unlock()
		if err := f.PrintJSON(v); err != nil && unwritten == nil {
			unwritten = err
		}
		progress.countAnswer(v, bytes)
	}
	var running sync.WaitGroup
	slots := make(chan struct{}, jobs)
	lines := bufio.NewReaderSize(f.In, 64<<10)
	for {
		line, err := readBatchLine(lines)
		if len(line) > 0 {
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots }()
				write(answer(line), len(line)+1)
			})
		}
		if errors.Is(err, errTooLong) {
			write(results.CallResult{Error: &session.Error{Code: pluginpb.CodeTooLarge,
				Message: fmt.Sprintf("a line is longer than %d bytes", maxLineBytes)}}, maxLineBytes)
			continue
		}
		if err != nil {
			running.Wait()
			if !errors.Is(err, io.EOF) {
				return cli.FailedError(fmt.Errorf("read standard input: %w", err))
			}
			if unwritten != nil {
				return cli.FailedError(unwritten)
			}
			return nil
		}
	}
}

var errTooLong = errors.New("the line is too long")

// readBatchLine reads a line that is not blank. A line that is too long is skipped with an error.
func readBatchLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLineBytes; !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			return nil, errTooLong
		}
		if line = bytes.TrimSpace(line); len(line) == 0 && err == nil {
			continue
		}
		return line, err
	}
}

// batchCall is one call of a batch.
type batchCall struct {
	ID    json.RawMessage
	Tool  string
	Args  json.RawMessage
	Agent string
}

// parseBatchCall parses a line strictly: its keys must be exact, known and unique, so that all readers see the same
// call. In case of an error it returns the parsed part, which may contain the line's id for the answer.
func parseBatchCall(text []byte) (line batchCall, err error) {
	// The arguments are read by the session, which has better words for what is wrong with them.
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	if d.PeekKind() != '{' {
		if _, err := d.ReadValue(); err != nil {
			return line, newSyntaxError(err)
		}
		return line, errors.New("it is not a JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return line, newSyntaxError(err)
	}
	seen := make(map[string]bool, 4)
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return line, newSyntaxError(err)
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return line, newSyntaxError(err)
		}
		if seen[key] {
			return line, fmt.Errorf("%q is given twice", key)
		}
		seen[key] = true
		if err := line.setField(key, value); err != nil {
			return line, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return line, newSyntaxError(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return line, errors.New("text follows the JSON object")
	}
	if line.Tool == "" {
		return line, errors.New(`"tool" is missing`)
	}
	return line, nil
}

func (l *batchCall) setField(key string, value jsontext.Value) error {
	switch key {
	case "id":
		l.ID = json.RawMessage(value.Clone())
	case "args":
		l.Args = json.RawMessage(value.Clone())
	case "tool":
		return unquoteString(key, value, &l.Tool)
	case "agent":
		return unquoteString(key, value, &l.Agent)
	default:
		return fmt.Errorf("unknown key %q%s", key, suggest.DidYouMean(key, []string{"id", "tool", "args", "agent"}))
	}
	return nil
}

func unquoteString(key string, value jsontext.Value, target *string) error {
	if value.Kind() != '"' {
		return fmt.Errorf("%q must be a string", key)
	}
	text, err := jsontext.AppendUnquote(nil, value)
	*target = string(text)
	return err
}

func newSyntaxError(err error) error {
	return errors.New("it is not valid JSON: " + pluginpb.ExplainSyntaxError(err))
}

// batchProgress shows the progress of a batch: by bytes if the calls are in a file, otherwise by their number. A nil
// pointer shows nothing.
type batchProgress struct {
	line          *terminal.Progress
	total, done   int64 // bytes; a total of 0 is unknown
	calls, failed int
}

// newBatchProgress starts the progress line if standard error is a terminal and standard output is not.
func newBatchProgress(f *cli.Factory) *batchProgress {
	errors := terminal.NewWriter(f.Err)
	if !errors.IsTerminal() || terminal.NewWriter(f.Out).IsTerminal() {
		return nil
	}
	p := &batchProgress{line: terminal.StartProgress(errors, "waiting for calls")}
	if f, ok := f.In.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			p.total = info.Size()
		}
	}
	return p
}

// countAnswer counts an answer to a line of the given length. It is not for concurrent use.
func (p *batchProgress) countAnswer(answer any, bytes int) {
	if p == nil {
		return
	}
	p.calls++
	p.done += int64(bytes)
	text := fmt.Sprintf("%d answered", p.calls)
	if r, ok := answer.(results.CallResult); ok && !r.OK {
		p.failed++
	}
	if p.failed > 0 {
		text += fmt.Sprintf(", %d with an error", p.failed)
	}
	p.line.Update(float64(p.done), float64(p.total), text)
}

func (p *batchProgress) stop() {
	if p != nil {
		p.line.Stop()
	}
}
