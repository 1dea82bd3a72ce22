package hooks

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/stdio"
	"github.com/picoclaw/picoclaw/isolation"
)

// maxLine limits the bytes of a JSON-RPC message in either direction.
const maxLine = 1 << 20

// hookChild is the running process of a process hook, with its pending calls.
type hookChild struct {
	process *isolation.Process
	pipes   *stdio.ChildPipes
	stderr  *stdio.TailBuffer // tail of standard error
	log     hclog.Logger
	done    chan struct{} // closed when the process has ended and all its output is read

	writing sync.Mutex // held while a line is written

	mu      sync.Mutex
	err     error // reason for no further calls; nil while the child runs
	lastID  uint64
	pending map[uint64]chan rpcMessage
}

// rpcMessage is a JSON-RPC 2.0 message.
type rpcMessage struct {
	Version string          `json:"jsonrpc"`
	ID      uint64          `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// startHookChild starts a program and reads its responses until it ends.
func startHookChild(w sessionInfo, p session.AgentProgram, log hclog.Logger) (*hookChild, error) {
	process, pipes, err := startWithPipes(w, p)
	if err != nil {
		return nil, err
	}
	c := &hookChild{
		process: process, pipes: pipes, stderr: stdio.NewTailBuffer(maxReason), log: log,
		done: make(chan struct{}), pending: map[uint64]chan rpcMessage{},
	}
	var readers sync.WaitGroup
	readers.Go(func() { c.killWithReason(c.dispatchResponses(pipes.Out)) })
	readers.Go(func() { _, _ = io.Copy(c.stderr, pipes.Err) })
	go func() {
		<-process.Done()
		pipes.SetReadDeadlines()
		readers.Wait()
		c.killWithReason(errors.New("ended"))
		pipes.Close()
		close(c.done)
	}()
	return c, nil
}

// endReason returns the reason why the child accepts no more calls; nil while it runs.
func (c *hookChild) endReason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// killWithReason kills the child. Its pending calls fail with the reason.
func (c *hookChild) killWithReason(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = reason
	for _, answer := range c.pending {
		close(answer)
	}
	c.pending = nil
	c.process.Kill()
}

// stopGracefully closes the child's standard input, and kills the child if it does not end by itself.
func (c *hookChild) stopGracefully(ctx context.Context) {
	_ = c.pipes.In.Close()
	_, _ = c.process.Stop(ctx, 2*time.Second)
	c.killWithReason(errors.New("was stopped with the host"))
	<-c.done
}

// dispatchResponses reads the child's responses and passes each to its pending call, until the stream ends.
func (c *hookChild) dispatchResponses(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 4<<10), maxLine)
	for lines.Scan() {
		var m rpcMessage
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			c.log.Warn("a hook's process wrote an invalid message", "error", err)
			continue
		}
		if m.ID == 0 || m.Method != "" {
			continue // the child can't make requests
		}
		c.mu.Lock()
		answer := c.pending[m.ID]
		delete(c.pending, m.ID)
		c.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("wrote a line of more than %d bytes", maxLine)
	}
	return errors.New("ended")
}

// callMethod calls a JSON-RPC method of the child and returns the result.
func (c *hookChild) callMethod(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answer := make(chan rpcMessage, 1)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return nil, c.err
	}
	c.lastID++
	id := c.lastID
	c.pending[id] = answer
	c.mu.Unlock()
	line, err := encodeLine(rpcMessage{Version: "2.0", ID: id, Method: method, Params: params})
	if err != nil {
		c.forgetCall(id)
		return nil, err
	}
	written := make(chan error, 1)
	go func() { written <- c.writeLine(line, time.Time{}) }()
	for {
		select {
		case err := <-written:
			written = nil
			if err != nil {
				c.killWithReason(errors.New("accepts no more messages"))
			}
		case m, ok := <-answer:
			switch {
			case !ok:
				return nil, c.endReason()
			case m.Error != nil:
				return nil, fmt.Errorf("answered with an error: %s", printablePrefix([]byte(m.Error.Message)))
			}
			return m.Result, nil
		case <-ctx.Done():
			c.forgetCall(id)
			return nil, ctx.Err()
		}
	}
}

func (c *hookChild) forgetCall(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// sendNotification sends a JSON-RPC notification. It kills a child that does not read it within the timeout, because an
// incomplete message remains in the pipe.
func (c *hookChild) sendNotification(method string, params any, timeout time.Duration) error {
	line, err := encodeLine(rpcMessage{Version: "2.0", Method: method, Params: params})
	if err != nil {
		return err
	}
	if err := c.writeLine(line, time.Now().Add(timeout)); err != nil {
		c.killWithReason(fmt.Errorf("did not read an event within %s", timeout))
		return c.endReason()
	}
	return nil
}

// writeLine writes a line to the child before a deadline; the zero time means none.
func (c *hookChild) writeLine(line []byte, deadline time.Time) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.pipes.In.SetWriteDeadline(deadline)
	_, err := c.pipes.In.Write(line)
	return err
}

// encodeLine encodes a message as one line, at most maxLine bytes long.
func encodeLine(m rpcMessage) ([]byte, error) {
	line, err := json.Marshal(m)
	if err == nil && len(line) >= maxLine {
		err = fmt.Errorf("can't be sent %d bytes, more than %d", len(line), maxLine)
	}
	return append(line, '\n'), err
}

func (c *hookChild) stderrText() string {
	text, _ := c.stderr.Text()
	return printablePrefix([]byte(text))
}
