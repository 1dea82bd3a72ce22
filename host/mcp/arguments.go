package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// largeArgumentStore holds large arguments of tool calls outside their messages, because the SDK parses and copies a message
// a dozen times. The zero value is ready for use.
type largeArgumentStore struct{ byKey sync.Map }

// argumentKeyHeader is the request header with the key of stored arguments. A client's value of the header is removed.
const argumentKeyHeader = "Picoclaw-Arguments"

// storeArguments stores the arguments of a large tool call, and returns their key and the message without them. The key
// is empty if the message keeps its arguments.
func (s *largeArgumentStore) storeArguments(message []byte) (key string, rest []byte) {
	if len(message) <= smallMessage {
		return "", message
	}
	arguments, rest := cutOutArguments(message)
	if arguments == nil {
		return "", message
	}
	key = rand.Text()
	s.byKey.Store(key, arguments)
	return key, rest
}

// restoreArguments is middleware that puts the stored arguments back into a tool call.
func (s *largeArgumentStore) restoreArguments(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok || call.Extra == nil || call.Extra.Header.Get(argumentKeyHeader) == "" {
			return next(ctx, method, req)
		}
		arguments, ok := s.byKey.LoadAndDelete(call.Extra.Header.Get(argumentKeyHeader))
		if !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the client disconnected before the call began"}
		}
		call.Params.Arguments = arguments.(json.RawMessage)
		if len(call.Extra.Header) == 1 { // that of a stream, which has no others
			call.Extra.Header = nil
		}
		return next(ctx, method, req)
	}
}

// cutOutArguments returns the arguments of a tool call, which share the message's memory, and a copy of the message
// with {} in their place. It returns nil for a message that the SDK might parse differently.
func cutOutArguments(message []byte) (arguments json.RawMessage, rest []byte) {
	var call struct {
		Method string `json:"method"`
		Params struct {
			Arguments valueSpan `json:"arguments"`
		} `json:"params"`
	}
	if err := jsonv2.Unmarshal(message, &call); err != nil || call.Method != "tools/call" || call.Params.Arguments.end == 0 {
		return nil, nil
	}
	at := call.Params.Arguments
	return message[at.start:at.end:at.end], bytes.Join([][]byte{message[:at.start], message[at.end:]}, []byte("{}"))
}

// valueSpan holds the start and end offsets of a JSON value in its text.
type valueSpan struct{ start, end int64 }

// UnmarshalJSONFrom stores the offsets of the next value and skips it.
func (s *valueSpan) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	s.end = d.InputOffset()
	s.start = s.end - int64(len(value))
	return err
}
