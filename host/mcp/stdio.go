package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// maxMessage is the maximum size of a client's message in bytes: the largest arguments and the rest of the message.
const maxMessage = pluginpb.MaxArgumentBytes + 1<<20

var errTooLong = fmt.Errorf("the message is longer than %d bytes; send less at a time", maxMessage)

// Streams are a reader and a writer of newline-delimited JSON messages.
type Streams struct {
	Reader io.Reader
	Writer io.Writer

	// DrainTimeout is the time after the end of the input in which pending responses are still sent. Scripts may
	// close their input after the last request.
	DrainTimeout time.Duration

	// ReaderGone reports whether nobody reads responses any more, which ends that time; nil if unknown.
	ReaderGone func() bool
}

// streamConn is the SDK's transport and connection over two streams. The SDK's own transport ends the session at an
// invalid or oversized line; this one answers with an error and continues.
type streamConn struct {
	Streams
	incoming  chan jsonrpc.Message
	inputDone chan struct{} // closed when the input has ended and no responses are pending
	inputErr  error         // reason of the end of the input
	closed    chan struct{}
	once      sync.Once

	unwritten atomic.Int64 // number of responses that are not completely written
	writeMu   sync.Mutex
	out       *bufio.Writer // protected by writeMu

	arguments *largeArgumentStore
	ids       requestIDPreserver

	mu      sync.Mutex
	pending map[jsonrpc.ID]string // requests without a response, with their keys in arguments
}

// newStreamConn returns a connection over the streams that puts large arguments into a store.
func (l Streams) newStreamConn(arguments *largeArgumentStore) *streamConn {
	return &streamConn{Streams: l, out: bufio.NewWriter(l.Writer), incoming: make(chan jsonrpc.Message),
		inputDone: make(chan struct{}), closed: make(chan struct{}), arguments: arguments, ids: newIDPreserver(),
		pending: make(map[jsonrpc.ID]string)}
}

// Connect starts reading and returns the connection.
func (c *streamConn) Connect(context.Context) (mcp.Connection, error) {
	go c.readMessages(bufio.NewReaderSize(c.Reader, 64<<10))
	return c, nil
}

// Read returns the next message.
func (c *streamConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case message := <-c.incoming:
		return message, nil
	case <-c.inputDone:
		return nil, c.inputErr
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends a message.
func (c *streamConn) Write(_ context.Context, message jsonrpc.Message) error {
	parts, err := encodeMessage(message)
	if err != nil {
		return err
	}
	response, ok := message.(*jsonrpc.Response)
	if !ok {
		return c.writeLineParts(parts...)
	}
	idPart := min(1, len(parts)-1)
	parts[idPart] = c.ids.restoreIDs(parts[idPart])
	c.mu.Lock()
	c.arguments.byKey.Delete(c.pending[response.ID]) // of a call that did not begin
	delete(c.pending, response.ID)                   // the client may reuse the id
	c.mu.Unlock()
	defer c.unwritten.Add(-1)
	return c.writeLineParts(parts...)
}

func (c *streamConn) writeLineParts(parts ...[]byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	for _, part := range parts {
		_, _ = c.out.Write(part) // Flush returns the error
	}
	_ = c.out.WriteByte('\n')
	return c.out.Flush()
}

// sendErrorResponse answers an invalid message with an error.
func (c *streamConn) sendErrorResponse(id json.RawMessage, code int64, err error) {
	_ = c.writeLineParts(newErrorResponse(id, code, err.Error())) // a later write returns the same error
}

// Close ends the connection. It leaves the streams open, since they belong to the caller.
func (c *streamConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// SessionID returns "". Two streams have one session, so it needs no id.
func (c *streamConn) SessionID() string { return "" }

// readMessages reads messages and passes them to Read, until the input ends or the connection is closed. After a close
// it may still block in the reader, which belongs to the caller.
func (c *streamConn) readMessages(r *bufio.Reader) {
	defer close(c.inputDone)
	for {
		line, whole, err := readLimitedLine(r)
		switch {
		case len(line) == 0 && err != nil:
			c.drainResponses()
			c.inputErr = err
			return
		case !whole:
			c.sendErrorResponse(findMessageID(line), jsonrpc.CodeInvalidRequest, errTooLong)
		case len(line) > 0 && !c.deliverMessageLine(line):
			return
		}
		runtime.Gosched() // let the message's handler start before the next read blocks
	}
}

// deliverMessageLine passes the message of a line to Read, or answers an invalid line with an error. It returns false when the
// connection is closed.
func (c *streamConn) deliverMessageLine(line []byte) bool {
	key, text := c.arguments.storeArguments(line)
	text, _, _ = rewriteTaskRequest(c.ids.quoteIDs(text))
	message, err := decodeMessage(text)
	if err == nil {
		err = c.registerRequest(message, key)
	}
	if err != nil {
		c.arguments.byKey.Delete(key)
		c.sendErrorResponse(findMessageID(line), messageErrorCode(line), err)
		return true
	}
	line, text = nil, nil // the reader waits here for the message's handler
	select {
	case c.incoming <- message:
		return true
	case <-c.closed:
		return false
	}
}

// registerRequest records a request as pending, with the key of its stored arguments, if any.
func (c *streamConn) registerRequest(message jsonrpc.Message, key string) error {
	request, ok := message.(*jsonrpc.Request)
	if !ok || !request.IsCall() {
		c.arguments.byKey.Delete(key)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.pending[request.ID]; used {
		return fmt.Errorf("request ID %v already in use", request.ID.Raw())
	}
	c.pending[request.ID] = key
	c.unwritten.Add(1)
	if key != "" {
		request.Extra = &mcp.RequestExtra{Header: http.Header{argumentKeyHeader: {key}}}
	}
	return nil
}

// drainResponses waits until all responses are written, the client stops reading, or DrainTimeout has passed.
func (c *streamConn) drainResponses() {
	timeout := time.NewTimer(c.DrainTimeout)
	defer timeout.Stop()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for c.unwritten.Load() > 0 && (c.ReaderGone == nil || !c.ReaderGone()) {
		select {
		case <-ticker.C:
		case <-c.closed:
			return
		case <-timeout.C:
			return
		}
	}
}

// readLimitedLine reads a line. For an oversized line it returns only the beginning and the end, and whole is false.
func readLimitedLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	const keep = 4 << 10
	for whole = true; ; {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if whole && len(line) > maxMessage {
			whole, line = false, slices.Concat(line[:keep], line[len(line)-keep:])
		} else if !whole {
			line = slices.Delete(line, keep, len(line)-keep)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), whole, err
		}
	}
}
