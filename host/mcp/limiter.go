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

// Limits of the requests in progress of all clients together: their number, and the bytes of their messages, which
// take several times as much memory. Small messages always pass, since other requests may depend on them.
const (
	maxRequests     = 1000
	maxRequestBytes = 4 * maxMessage
	smallMessage    = 64 << 10
)

var errOverloaded = errors.New("too many requests are in progress")

// requestLimiter limits the number and the bytes of the requests in progress.
type requestLimiter struct {
	mu              sync.Mutex
	requests, bytes int
}

// freeMemoryDelay is the time without calls after which the process returns free memory to the system.
const freeMemoryDelay = 3 * time.Second

// acquireSlot counts a request, or returns an error if there are too many. The caller calls releaseSlot at the end.
func (l *requestLimiter) acquireSlot(bytes int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.requests >= maxRequests || bytes > smallMessage && l.bytes+bytes > maxRequestBytes {
		return fmt.Errorf("%w: %d requests of %d bytes; wait for their responses, then retry",
			errOverloaded, l.requests, l.bytes)
	}
	l.requests++
	l.bytes += bytes
	return nil
}

// releaseSlot frees the slot of a request.
func (l *requestLimiter) releaseSlot(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests--
	l.bytes -= bytes
}

// limitCalls is the middleware that applies the limits to tool calls.
func (l *requestLimiter) limitCalls(next mcp.MethodHandler) mcp.MethodHandler {
	idle := time.AfterFunc(freeMemoryDelay, debug.FreeOSMemory)
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		size := len(call.Params.Arguments)
		if err := l.acquireSlot(size); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
		}
		defer l.releaseSlot(size)
		defer idle.Reset(freeMemoryDelay)
		return next(ctx, method, req)
	}
}
