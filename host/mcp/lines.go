package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
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
	tidy   *tidy        // may be nil
}

var _ mcp.Transport = Lines{}

// Connect begins to read.
func (l Lines) Connect(context.Context) (mcp.Connection, error) {
	c := &lines{
		writer: l.Writer, incoming: make(chan incoming), over: make(chan struct{}), closed: make(chan struct{}),
		due: newDue(), tidy: l.tidy, patience: l.Patience, gone: l.Gone,
	}
	if c.tidy == nil {
		c.tidy = new(tidy)
	}
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
	told     atomic.Pointer[string] // the version of the protocol that initialize was answered with; nil until then
	tidy     *tidy
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
	for goesOn := true; goesOn; {
		line, id, err := readFrame(r)
		switch {
		case errors.Is(err, errFrameTooLong):
			c.refuse(id, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes; send less at a time", maxFrame))
			c.tidy.passed(maxFrame)
		case err != nil:
			c.whileTrue(c.isOwing, c.patience)
			close(c.over)
			c.hand(incoming{err: err})
			return
		case isBatch(line):
			goesOn = c.readBatch(line)
		case len(line) > 0:
			goesOn = c.readOne(line)
		}
		c.tidy.passed(len(line))
	}
}

// readOne takes a message, and says whether the connection goes on.
func (c *lines) readOne(line []byte) bool {
	message, err := decode(line)
	if err != nil {
		c.refuse(idOf(line), codeOf(line), fmt.Sprintf("not a JSON-RPC 2.0 message: %.200s", err))
		return true
	}
	if r, ok := message.(*jsonrpc.Request); ok && r.IsCall() {
		if err := c.expect(r, nil); err != nil {
			c.refuse(idOf(line), jsonrpc.CodeInvalidRequest, err.Error())
			return true
		}
	}
	return c.pass(message)
}

// expect takes a request for one that is due, or says why it can't be.
func (c *lines) expect(r *jsonrpc.Request, of *batch) error {
	switch {
	case of != nil && r.Method == "initialize":
		return errInitializeApart
	case strings.HasPrefix(r.Method, "notifications/"): // the library would do it all the same
		return fmt.Errorf("%s is a notification, and has no id", r.Method)
	}
	return c.due.add(r, of)
}

// pass has a message dealt with, and says whether the connection goes on.
func (c *lines) pass(message jsonrpc.Message) bool {
	if r, ok := message.(*jsonrpc.Request); ok {
		if d := c.direct.Load(); d != nil && d.takes(r) {
			return true
		}
	}
	return c.hand(incoming{message: message})
}

// hand gives the library what came in, and says whether the connection goes on.
func (c *lines) hand(in incoming) bool {
	select {
	case c.incoming <- in:
		return true
	case <-c.closed:
		return false
	}
}

// isOwing says whether answers are due that somebody reads.
func (c *lines) isOwing() bool { return c.due.any() && (c.gone == nil || !c.gone()) }

// whileTrue waits while a condition holds, until somebody closes the connection, or the patience is at its end.
func (c *lines) whileTrue(holds func() bool, patience time.Duration) {
	impatient := time.NewTimer(patience)
	defer impatient.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for holds() {
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

// reply sends the answer to what was asked, or keeps it for those to its batch.
func (c *lines) reply(to asked, id jsonrpc.ID, line []byte) error {
	size := len(line)
	if to.request != nil {
		size += len(to.request.Params)
	}
	defer c.tidy.passed(size)
	if to.batch != nil {
		line = to.batch.add(id, line)
	}
	if line == nil {
		return nil
	}
	return c.write(line)
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
	r, ok := message.(*jsonrpc.Response)
	if !ok {
		data, err := encode(message)
		if err != nil {
			return err
		}
		return c.write(append(data, '\n'))
	}
	c.listen(r)
	to := c.due.answer(r.ID)
	defer c.due.written()
	if r.Error != nil {
		r = &jsonrpc.Response{ID: r.ID, Error: inWords(to.request, r.Error)}
	}
	data, err := encode(r)
	if err != nil {
		data = refusal(appendID(nil, r.ID), jsonrpc.CodeInternalError, err.Error())
	}
	return c.reply(to, r.ID, append(data, '\n'))
}

// listen hears in the answer to initialize which version of the protocol the client is told.
func (c *lines) listen(r *jsonrpc.Response) {
	if request := c.due.find(r.ID); request == nil || request.Method != "initialize" || r.Error != nil {
		return
	}
	var result struct{ ProtocolVersion string }
	if json.Unmarshal(r.Result, &result) == nil {
		c.told.Store(&result.ProtocolVersion)
	}
}

// version is the version of the protocol that the client was told, empty before that.
func (c *lines) version() string {
	if v := c.told.Load(); v != nil {
		return *v
	}
	return ""
}

// Close ends the connection. The streams stay open; they are the caller's.
func (c *lines) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// SessionID is empty: a pair of streams is one session.
func (c *lines) SessionID() string { return "" }
