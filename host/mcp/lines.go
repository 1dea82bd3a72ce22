package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Lines is a transport of newline-delimited JSON over two streams. Unlike the SDK's own, it answers a line that is no
// message, or too long for one, with an error and goes on: one broken request must not end the session of an agent.
type Lines struct {
	Reader io.Reader
	Writer io.Writer

	// Patience is how long the connection goes on after the end of what is read, for answers that are still due: a script
	// may have said all that it wants to ask.
	Patience time.Duration

	// Gone says that nobody reads answers any more, which ends that; nil if that can't be told.
	Gone func() bool

	opened func(*lines) // told of the connection; may be nil
}

var _ mcp.Transport = Lines{}

// Connect begins to read.
func (l Lines) Connect(context.Context) (mcp.Connection, error) {
	c := &lines{writer: l.Writer, incoming: make(chan incoming), over: make(chan struct{}), closed: make(chan struct{}), due: newDue(), patience: l.Patience, gone: l.Gone}
	if l.opened != nil {
		l.opened(c)
	}
	go c.read(bufio.NewReaderSize(l.Reader, 64<<10))
	return c, nil
}

// lines is a connection of two streams.
type lines struct {
	incoming chan incoming
	over     chan struct{} // closed when what is read has ended, and the patience
	closed   chan struct{}
	once     sync.Once
	due      *due
	direct   atomic.Pointer[direct] // nil until the session is there
	patience time.Duration
	gone     func() bool

	mu     sync.Mutex // of writing
	writer io.Writer
}

// incoming is what came in, or why nothing more will.
type incoming struct {
	message jsonrpc.Message
	err     error
}

// read passes messages on until the stream ends or the connection is closed. It may then still wait for the stream,
// which is not its to close.
func (c *lines) read(r *bufio.Reader) {
	for {
		line, id, err := readFrame(r)
		var next incoming
		switch {
		case errors.Is(err, errFrameTooLong):
			c.refuse(id, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes; send less at a time", maxFrame))
			continue
		case err != nil:
			c.await()
			close(c.over)
			next.err = err
		case len(line) == 0:
			continue
		default:
			if next.message, err = decode(line); err != nil {
				c.refuse(idOf(line), codeOf(line), fmt.Sprintf("not a JSON-RPC 2.0 message: %.200s", err))
				continue
			}
			if r, ok := next.message.(*jsonrpc.Request); ok && c.dealtWith(r, line) {
				continue
			}
		}
		select {
		case c.incoming <- next:
		case <-c.closed:
			return
		}
		if next.err != nil {
			return
		}
	}
}

// dealtWith says whether a request is not for the library: its id is another one's, or its answer is on the way.
func (c *lines) dealtWith(r *jsonrpc.Request, line []byte) bool {
	if r.IsCall() && !c.due.add(r) {
		c.refuse(idOf(line), jsonrpc.CodeInvalidRequest, fmt.Sprintf(
			"there is a request with the id %v already that is not answered yet; give each request an id of its own", r.ID.Raw()))
		return true
	}
	d := c.direct.Load()
	return d != nil && d.takes(r)
}

// await waits until all answers are given that are due, somebody closes the connection, nobody reads them any more, or the
// patience is at its end.
func (c *lines) await() {
	impatient := time.NewTimer(c.patience)
	defer impatient.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for c.due.any() && (c.gone == nil || !c.gone()) {
		select {
		case <-look.C:
		case <-c.closed:
			return
		case <-impatient.C:
			return
		}
	}
}

// codeOf tells what is not JSON from what is JSON but no message.
func codeOf(line []byte) int64 {
	if json.Valid(line) {
		return jsonrpc.CodeInvalidRequest
	}
	return jsonrpc.CodeParseError
}

// refuse answers a line that is no message.
func (c *lines) refuse(id json.RawMessage, code int64, text string) {
	_ = c.write(append(refusal(id, code, text), '\n')) // the next message will meet the same stream
}

// write sends one line, which ends with a line feed.
func (c *lines) write(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.writer.Write(line)
	return err
}

// Read returns the next message.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case next := <-c.incoming:
		return next.message, next.err
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends a message.
func (c *lines) Write(_ context.Context, message jsonrpc.Message) error {
	if r, ok := message.(*jsonrpc.Response); ok {
		request := c.due.answer(r.ID)
		defer c.due.written()
		if r.Error != nil {
			message = &jsonrpc.Response{ID: r.ID, Error: inWords(request, r.Error)}
		}
	}
	data, err := encode(message)
	if err != nil {
		return err
	}
	return c.write(append(data, '\n'))
}

// Close ends the connection. The streams stay open; they are the caller's.
func (c *lines) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// SessionID is empty: a pair of streams is one session.
func (c *lines) SessionID() string { return "" }
