package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/sdk/heap"
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
	tidy   *heap.Tidy   // may be nil
}

var _ mcp.Transport = Lines{}

// Connect begins to read.
func (l Lines) Connect(context.Context) (mcp.Connection, error) {
	c := &lines{
		writer: l.Writer, incoming: make(chan incoming), over: make(chan struct{}), closed: make(chan struct{}),
		reader: make(chan *bufio.Reader), due: newDue(), tidy: l.tidy, patience: l.Patience, gone: l.Gone,
	}
	if c.tidy == nil {
		c.tidy = new(heap.Tidy)
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
	reader   chan *bufio.Reader // to who reads on
	idle     atomic.Int32       // how many wait for that
	due      *due
	direct   atomic.Pointer[direct] // nil until the session is there
	told     atomic.Pointer[string] // the version of the protocol that initialize was answered with; nil until then
	tidy     *heap.Tidy
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
	defer c.tidy.Passed(size)
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
	defer c.due.written(to)
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
	if request := c.due.find(r.ID); request == nil || !begins(request) || r.Error != nil {
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
