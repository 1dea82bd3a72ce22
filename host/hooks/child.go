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

// maxLine is the longest message of a process's or to one.
const maxLine = 1 << 20

// child is a running process and what is asked of it.
type child struct {
	process *isolation.Process
	pipes   *stdio.Pipes
	said    *stdio.Tail // the end of its standard error
	log     hclog.Logger
	done    chan struct{} // closed when it has ended and nothing more comes from it

	writing sync.Mutex // held for a line

	mu      sync.Mutex
	err     error // why it is no longer asked
	next    uint64
	pending map[uint64]chan message
}

// message is one line of JSON-RPC 2.0.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      uint64          `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

func startChild(w where, p session.Program, log hclog.Logger) (*child, error) {
	process, pipes, err := start(w, p)
	if err != nil {
		return nil, err
	}
	c := &child{
		process: process, pipes: pipes, said: stdio.NewTail(maxReason), log: log,
		done: make(chan struct{}), pending: map[uint64]chan message{},
	}
	var reading sync.WaitGroup
	reading.Go(func() { c.kill(c.read(pipes.Out)) })
	reading.Go(func() { _, _ = io.Copy(c.said, pipes.Err) })
	go func() {
		<-process.Done()
		pipes.Ended()
		reading.Wait()
		c.kill(errors.New("has ended"))
		pipes.Close()
		close(c.done)
	}()
	return c, nil
}

// ended is why the child is no longer asked; nil while it is.
func (c *child) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// kill ends the child, and with it what is asked of it.
func (c *child) kill(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = why
	for _, answer := range c.pending {
		close(answer)
	}
	c.pending = nil
	c.process.Kill()
}

// close has the child end by itself, and ends it if it does not.
func (c *child) close(ctx context.Context) {
	_ = c.pipes.In.Close()
	_, _ = c.process.Stop(ctx, 2*time.Second)
	c.kill(errors.New("was ended with the host"))
	<-c.done
}

// read hands answers to who waits for them, until the stream ends.
func (c *child) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 4<<10), maxLine)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			c.log.Warn("a hook's process has written what is no message", "error", err)
			continue
		}
		if m.ID == 0 || m.Method != "" {
			continue // it is not asked anything
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
	return errors.New("has ended")
}

// call asks the child something.
func (c *child) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answer := make(chan message, 1)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return nil, c.err
	}
	c.next++
	id := c.next
	c.pending[id] = answer
	c.mu.Unlock()
	line, err := encoded(message{Version: "2.0", ID: id, Method: method, Params: params})
	if err != nil {
		c.forget(id)
		return nil, err
	}
	written := make(chan error, 1)
	go func() { written <- c.write(line, time.Time{}) }()
	for {
		select {
		case err := <-written:
			written = nil
			if err != nil {
				c.kill(errors.New("takes no more messages"))
			}
		case m, ok := <-answer:
			switch {
			case !ok:
				return nil, c.ended()
			case m.Error != nil:
				return nil, fmt.Errorf("answered with an error: %s", reason([]byte(m.Error.Message)))
			}
			return m.Result, nil
		case <-ctx.Done():
			c.forget(id)
			return nil, ctx.Err()
		}
	}
}

func (c *child) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// notify tells the child something, which it has to take within a time.
func (c *child) notify(method string, params any, within time.Duration) error {
	line, err := encoded(message{Version: "2.0", Method: method, Params: params})
	if err != nil {
		return err
	}
	if err := c.write(line, time.Now().Add(within)); err != nil {
		c.kill(fmt.Errorf("did not take an event within %s", within))
		return c.ended()
	}
	return nil
}

func (c *child) write(line []byte, until time.Time) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.pipes.In.SetWriteDeadline(until)
	_, err := c.pipes.In.Write(line)
	return err
}

func encoded(m message) ([]byte, error) {
	line, err := json.Marshal(m)
	if err == nil && len(line) >= maxLine {
		err = fmt.Errorf("can't be told of %d bytes, more than %d", len(line), maxLine)
	}
	return append(line, '\n'), err
}

// words are the last that it has said on standard error.
func (c *child) words() string {
	text, _ := c.said.Text()
	return reason([]byte(text))
}
