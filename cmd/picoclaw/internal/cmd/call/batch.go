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
	"strings"
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
		Long: `Read lines such as {"id":1,"tool":"read_file","args":{"path":"go.mod"},"agent":"main"} and write one line of JSON with
the same id for each. With --jobs 1 answers keep the order of the calls. A failed call has an error in its answer and
does not change the exit code.`,
		Example: strings.Trim(`
  picoclaw batch < calls.jsonl > answers.jsonl
  find . -name '*.go' | jq -Rc '{tool: "file_stat", args: {path: .}}' | picoclaw batch --jobs 4`, "\n"),
		Args: func(cmd *cobra.Command, args []string) error {
			if o.jobs < 1 || o.jobs > 256 {
				return cli.Usagef("--jobs %d: want 1 to 256", o.jobs)
			}
			return cli.NoArguments(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&o.jobs, "jobs", 1, "number of concurrent calls")
	return cli.NewCommand(cmd, o, runF)
}

func (o *BatchOptions) run(ctx context.Context) error {
	sessions, done, err := openSessions(o.Factory, (*session.Host).OpenSession)
	if err != nil {
		return err
	}
	defer done()
	if err := sessions.host.Prepare(); err != nil {
		return cli.CannotStart(err)
	}
	return eachLine(o.Factory, o.jobs, func(line []byte) any { return sessions.call(ctx, line) })
}

// sessions holds one session for each agent that a batch names.
type sessions struct {
	host *session.Host
	open hosts.Opener

	mu      sync.Mutex
	byAgent map[string]*session.Session
}

func openSessions(f *cli.Factory, open hosts.Opener) (s *sessions, done func(), err error) {
	h, err := hosts.Open(f, "")
	if err != nil {
		return nil, nil, err
	}
	return &sessions{host: h.Host, open: open, byAgent: make(map[string]*session.Session)}, func() { hosts.Close(f, h) }, nil
}

func (s *sessions) of(agent string) (*session.Session, error) {
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

// read reads a line and finds the session that it is for.
func (s *sessions) read(line []byte) (batchLine, *session.Session, *session.Error) {
	in, err := readBatchLine(line)
	if err != nil {
		return in, nil, &session.Error{Code: pluginpb.CodeInvalidArgument,
			Message: fmt.Sprintf("the line is not a call: %v", err),
			Hint:    `a line looks like {"id":1,"tool":"read_file","args":{"path":"go.mod"}}`}
	}
	sess, err := s.of(in.Agent)
	if err != nil {
		return in, nil, &session.Error{Code: pluginpb.CodeInvalidArgument, Message: err.Error()}
	}
	return in, sess, nil
}

func (s *sessions) call(ctx context.Context, line []byte) any {
	in, sess, e := s.read(line)
	if e != nil {
		return results.Call{ID: in.ID, Error: e}
	}
	out := results.NewCall(sess.Call(ctx, in.Tool, in.Args, nil))
	out.ID = in.ID
	return out
}

// maxLine is the longest line of a batch: the largest arguments and what is round them.
const maxLine = pluginpb.MaxArgumentBytes + 4096

// eachLine answers the lines on standard input, several at the same time.
func eachLine(f *cli.Factory, jobs int, answer func(line []byte) any) error {
	var writing sync.Mutex
	var unwritten error
	progress := newBatchProgress(f)
	defer progress.end()
	write := func(v any, bytes int) {
		writing.Lock()
		defer writing.Unlock()
		if err := f.PrintJSON(v); err != nil && unwritten == nil {
			unwritten = err
		}
		progress.answered(v, bytes)
	}
	var running sync.WaitGroup
	places := make(chan struct{}, jobs)
	lines := bufio.NewReaderSize(f.In, 64<<10)
	for {
		line, err := readLine(lines)
		if len(line) > 0 {
			places <- struct{}{}
			running.Go(func() {
				defer func() { <-places }()
				write(answer(line), len(line)+1)
			})
		}
		if errors.Is(err, errTooLong) {
			write(results.Call{Error: &session.Error{Code: pluginpb.CodeTooLarge,
				Message: fmt.Sprintf("a line is longer than %d bytes", maxLine)}}, maxLine)
			continue
		}
		if err != nil {
			running.Wait()
			if !errors.Is(err, io.EOF) {
				return cli.Fail(fmt.Errorf("read standard input: %w", err))
			}
			if unwritten != nil {
				return cli.Fail(unwritten)
			}
			return nil
		}
	}
}

var errTooLong = errors.New("the line is too long")

// readLine reads a line that is not blank; one that is too long is read to its end and left out.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
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

// batchLine is one call of a batch.
type batchLine struct {
	ID    json.RawMessage
	Tool  string
	Args  json.RawMessage
	Agent string
}

// readBatchLine reads a line as strictly as a tool's arguments are read: its keys are exact, known and unique, so that
// nobody who looks at the same line sees another call. What was read until an error is returned with it, so that the
// answer can bear the line's id.
func readBatchLine(text []byte) (line batchLine, err error) {
	// The arguments are read by the session, which has better words for what is wrong with them.
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	if d.PeekKind() != '{' {
		if _, err := d.ReadValue(); err != nil {
			return line, syntaxError(text, err)
		}
		return line, errors.New("it is not a JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return line, syntaxError(text, err)
	}
	seen := make(map[string]bool, 4)
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return line, syntaxError(text, err)
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return line, syntaxError(text, err)
		}
		if seen[key] {
			return line, fmt.Errorf("%q is given twice", key)
		}
		seen[key] = true
		if err := line.set(key, value); err != nil {
			return line, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return line, syntaxError(text, err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return line, errors.New("something follows the JSON object")
	}
	if line.Tool == "" {
		return line, errors.New(`"tool" is missing`)
	}
	return line, nil
}

func (l *batchLine) set(key string, value jsontext.Value) error {
	switch key {
	case "id":
		l.ID = json.RawMessage(value.Clone())
	case "args":
		l.Args = json.RawMessage(value.Clone())
	case "tool":
		return unquote(key, value, &l.Tool)
	case "agent":
		return unquote(key, value, &l.Agent)
	default:
		return fmt.Errorf("unknown key %q%s", key, suggest.DidYouMean(key, []string{"id", "tool", "args", "agent"}))
	}
	return nil
}

func unquote(key string, value jsontext.Value, into *string) error {
	if value.Kind() != '"' {
		return fmt.Errorf("%q must be a string", key)
	}
	text, err := jsontext.AppendUnquote(nil, value)
	*into = string(text)
	return err
}

func syntaxError(text []byte, err error) error {
	return errors.New("it is not valid JSON: " + pluginpb.ExplainSyntaxError(text, err))
}

// batchProgress tells a person who waits how far a batch is: by the bytes that were answered, where the calls are in a
// file, and else by their number alone. nil shows nothing.
type batchProgress struct {
	line        *terminal.Progress
	total, done int64 // bytes; a total of 0 is not known
	calls, bad  int
}

// newBatchProgress begins, if standard error is a terminal and the answers are not on it: there, they are the progress.
func newBatchProgress(f *cli.Factory) *batchProgress {
	errors := terminal.New(f.Err)
	if !errors.IsTerminal() || terminal.New(f.Out).IsTerminal() {
		return nil
	}
	p := &batchProgress{line: terminal.NewProgress(errors, "waiting for calls")}
	if f, ok := f.In.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			p.total = info.Size()
		}
	}
	return p
}

// answered counts an answer, to a line of so many bytes. It is not for concurrent use.
func (p *batchProgress) answered(answer any, bytes int) {
	if p == nil {
		return
	}
	p.calls++
	p.done += int64(bytes)
	text := fmt.Sprintf("%d answered", p.calls)
	if r, ok := answer.(results.Call); ok && !r.OK {
		p.bad++
	}
	if p.bad > 0 {
		text += fmt.Sprintf(", %d with an error", p.bad)
	}
	p.line.Show(float64(p.done), float64(p.total), text)
}

func (p *batchProgress) end() {
	if p != nil {
		p.line.Done()
	}
}
