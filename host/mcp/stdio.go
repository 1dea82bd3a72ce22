package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// maxFrame is the longest message that a client may send, in bytes: the largest arguments and what is round them.
const maxFrame = pluginpb.MaxArgumentBytes + 1<<20

var errTooLong = fmt.Errorf("the message is longer than %d bytes; send less at a time", maxFrame)

// Lines are two streams of newline-delimited JSON.
type Lines struct {
	Reader io.Reader
	Writer io.Writer

	// Patience is how long the connection goes on after the end of what is read, for answers that are still due: a
	// script may have said all that it wants to ask.
	Patience time.Duration

	// Gone reports whether nobody reads answers any more, which ends that; nil if that can't be told.
	Gone func() bool
}

// lines is the connection of two streams, and the transport that makes it. Unlike the SDK's own it answers a line
// that is no message, or too long for one, with an error and goes on: one broken request must not end the session of
// an agent.
type lines struct {
	Lines
	incoming chan jsonrpc.Message
	over     chan struct{} // closed when what is read has ended, and the patience
	end      error         // why it has ended
	closed   chan struct{}
	once     sync.Once

	owing   atomic.Int64 // answers that the client does not have as a whole yet
	writing sync.Mutex
	out     *bufio.Writer // guarded by writing; what is larger passes it by

	mu  sync.Mutex
	due map[jsonrpc.ID]bool // requests without an answer
}

func (l Lines) open() *lines {
	return &lines{Lines: l, out: bufio.NewWriter(l.Writer), incoming: make(chan jsonrpc.Message),
		over: make(chan struct{}), closed: make(chan struct{}), due: make(map[jsonrpc.ID]bool)}
}

// Connect begins to read.
func (c *lines) Connect(context.Context) (mcp.Connection, error) {
	go c.read(bufio.NewReaderSize(c.Reader, 64<<10))
	return c, nil
}

// Read returns the next message.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case message := <-c.incoming:
		return message, nil
	case <-c.over:
		return nil, c.end
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends a message.
func (c *lines) Write(_ context.Context, message jsonrpc.Message) error {
	parts, err := encode(message)
	if err != nil {
		return err
	}
	answer, ok := message.(*jsonrpc.Response)
	if !ok {
		return c.send(parts...)
	}
	c.mu.Lock()
	delete(c.due, answer.ID) // whoever reads the answer may use its id again
	c.mu.Unlock()
	defer c.owing.Add(-1)
	return c.send(parts...)
}

// send writes the parts of a line.
func (c *lines) send(parts ...[]byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	for _, part := range parts {
		_, _ = c.out.Write(part) // an error stays until Flush
	}
	_ = c.out.WriteByte('\n')
	return c.out.Flush()
}

// refuse answers what is no message.
func (c *lines) refuse(id json.RawMessage, code int64, err error) {
	_ = c.send(refusal(id, code, err.Error())) // the next message will meet the same stream
}

// Close ends the connection. The streams stay open; they are the caller's.
func (c *lines) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// SessionID is empty: a pair of streams is one session.
func (c *lines) SessionID() string { return "" }

// read passes messages on until the stream ends or the connection is closed. It may then still wait for the stream,
// which is not its to close.
func (c *lines) read(r *bufio.Reader) {
	defer close(c.over)
	for {
		line, whole, err := readLine(r)
		switch {
		case len(line) == 0 && err != nil:
			c.wait()
			c.end = err
			return
		case !whole:
			c.refuse(idIn(line), jsonrpc.CodeInvalidRequest, errTooLong)
		case len(line) > 0 && !c.pass(line):
			return
		}
		runtime.Gosched() // what was passed on begins before this goroutine waits for the system
	}
}

// pass hands the message of a line over, or answers a line that is no message with an error. It reports whether the
// connection goes on.
func (c *lines) pass(line []byte) bool {
	message, err := decode(line)
	if err == nil {
		err = c.expect(message)
	}
	if err != nil {
		c.refuse(idIn(line), codeOf(line), err)
		return true
	}
	select {
	case c.incoming <- message:
		return true
	case <-c.closed:
		return false
	}
}

// expect notes a request that is to be answered.
func (c *lines) expect(message jsonrpc.Message) error {
	request, ok := message.(*jsonrpc.Request)
	if !ok || !request.IsCall() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.due[request.ID] {
		return fmt.Errorf("request ID %v already in use", request.ID.Raw())
	}
	c.due[request.ID] = true
	c.owing.Add(1)
	return nil
}

// wait waits for answers that are due and that somebody reads, until the patience is at its end.
func (c *lines) wait() {
	impatient := time.NewTimer(c.Patience)
	defer impatient.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for c.owing.Load() > 0 && (c.Gone == nil || !c.Gone()) {
		select {
		case <-look.C:
		case <-c.closed:
			return
		case <-impatient.C:
			return
		}
	}
}

// readLine reads a line. Of one that is too long it keeps the beginning and the end.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	const kept = 4 << 10
	for whole = true; ; {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if whole && len(line) > maxFrame {
			whole, line = false, slices.Concat(line[:kept], line[len(line)-kept:])
		} else if !whole {
			line = slices.Delete(line, kept, len(line)-kept)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), whole, err
		}
	}
}
