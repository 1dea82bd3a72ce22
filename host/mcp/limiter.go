package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The bounds of what all clients together have under way: requests, and bytes of their messages, which take several
// times as much memory. What is small passes, since others may wait for it.
const (
	maxUnderWay      = 1000
	maxUnderWayBytes = 4 * maxFrame
	smallMessage     = 64 << 10
)

var errUnderWay = errors.New("too much is under way already")

// load is what is under way.
type load struct {
	mu              sync.Mutex
	requests, bytes int
}

// rest is how long there is no call before memory goes back to the system.
const rest = 3 * time.Second

// take takes a request on, unless that is too much. Whatever is taken has to be given back.
func (l *load) take(bytes int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.requests >= maxUnderWay || bytes > smallMessage && l.bytes+bytes > maxUnderWayBytes {
		return fmt.Errorf("%w: %d requests of %d bytes; wait for their answers, and send this again",
			errUnderWay, l.requests, l.bytes)
	}
	l.requests++
	l.bytes += bytes
	return nil
}

func (l *load) give(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests--
	l.bytes -= bytes
}

// correct notes that a message of so many bytes has turned out to have others.
func (l *load) correct(from, to int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += to - from
}

// middleware holds calls of tools to the bounds.
func (l *load) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	idle := time.AfterFunc(rest, debug.FreeOSMemory)
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		size := len(call.Params.Arguments)
		if err := l.take(size); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
		}
		defer l.give(size)
		defer idle.Reset(rest)
		return next(ctx, method, req)
	}
}
