package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// batchOptions are the options of `picoclaw batch`.
type batchOptions struct {
	*app

	jobs int
}

func newBatch(a *app, runF func(*batchOptions) error) *cobra.Command {
	o := &batchOptions{app: a}

	cmd := &cobra.Command{
		Use:   "batch",
		Short: "Call tools from JSON lines on standard input",
		Long: `Reads lines of the form {"id":1,"tool":"read_file","args":{"path":"go.mod"},"agent":"main"} and writes a line of
JSON with the same id for each. With one job the answers come in the order of the calls, with more as they are ready. Calls that
fail say so in their answers; the exit code is about the batch itself.`,
		Example: strings.Trim(`
  picoclaw batch < calls.jsonl > answers.jsonl
  find . -name '*.go' | jq -Rc '{tool: "file_stat", args: {path: .}}' | picoclaw batch --jobs 4`, "\n"),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&o.jobs, "jobs", 1, "how many calls to make at the same time")
	return newCommand(cmd, o, runF)
}

func (o *batchOptions) run(ctx context.Context) error {
	if o.jobs < 1 || o.jobs > 256 {
		return usage("--jobs %d: want 1 to 256", o.jobs)
	}
	sessions, done, err := o.sessions((*session.Host).Session)
	if err != nil {
		return err
	}
	defer done()
	if err := sessions.host.Ready(); err != nil {
		return cantStart(err)
	}
	return o.eachLine(o.jobs, func(line []byte) any { return sessions.call(ctx, line) })
}

// sessions holds one session for each agent that a batch names.
type sessions struct {
	host *session.Host
	open opener

	mu      sync.Mutex
	byAgent map[string]*session.Session
}

func (a *app) sessions(open opener) (s *sessions, done func(), err error) {
	h, err := a.open("")
	if err != nil {
		return nil, nil, err
	}
	return &sessions{host: h.Host, open: open, byAgent: make(map[string]*session.Session)}, func() { a.close(h) }, nil
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
		return callResult{ID: in.ID, Error: e}
	}
	out := newCallResult(sess.Call(ctx, in.Tool, in.Args, nil))
	out.ID = in.ID
	return out
}

// maxLine is the longest line of a batch: the largest arguments and what is round them.
const maxLine = pluginpb.MaxArgumentBytes + 4096

// eachLine answers the lines on standard input, several at the same time.
func (a *app) eachLine(jobs int, answer func(line []byte) any) error {
	var writing sync.Mutex
	var unwritten error
	progress := a.batchProgress()
	defer progress.end()
	write := func(v any, bytes int) {
		writing.Lock()
		defer writing.Unlock()
		if err := a.printJSON(v); err != nil && unwritten == nil {
			unwritten = err
		}
		progress.answered(v, bytes)
	}
	var running sync.WaitGroup
	places := make(chan struct{}, jobs)
	lines := bufio.NewReaderSize(a.stdin, 64<<10)
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
			write(callResult{Error: &session.Error{Code: pluginpb.CodeTooLarge,
				Message: fmt.Sprintf("a line is longer than %d bytes", maxLine)}}, maxLine)
			continue
		}
		if err != nil {
			running.Wait()
			if !errors.Is(err, io.EOF) {
				return failed(fmt.Errorf("read standard input: %w", err))
			}
			if unwritten != nil {
				return failed(unwritten)
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
