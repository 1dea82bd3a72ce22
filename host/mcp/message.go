package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

var errBatch = errors.New("batches are not supported; send each message by itself")

// isBatchMessage reports whether data is a JSON array, which only protocol version 2025-03-26 allows.
func isBatchMessage(data []byte) bool { return jsontext.Value(data).Kind() == '[' }

// decodeMessage decodes a message. It refuses data after the message, which the SDK would drop.
func decodeMessage(data []byte) (jsonrpc.Message, error) {
	var request struct {
		Version string         `json:"jsonrpc"`
		ID      any            `json:"id"`
		Method  string         `json:"method"`
		Params  jsontext.Value `json:"params"`
	}
	if isBatchMessage(data) {
		return nil, errBatch
	}
	err := jsonv2.Unmarshal(data, &request, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("not a JSON-RPC 2.0 message: %w", err)
	}
	if request.Version != "2.0" || request.Method == "" {
		return jsonrpc.DecodeMessage(data)
	}
	id, err := jsonrpc.MakeID(request.ID)
	if err != nil {
		return nil, err
	}
	return &jsonrpc.Request{ID: id, Method: request.Method, Params: json.RawMessage(request.Params)}, nil
}

// encodeMessage encodes a message in parts. A marshalled result is one part, so that it is not copied.
func encodeMessage(message jsonrpc.Message) ([][]byte, error) {
	r, ok := message.(*jsonrpc.Response)
	if !ok || r.Error != nil || len(r.Result) == 0 {
		data, err := jsonrpc.EncodeMessage(message)
		return [][]byte{data}, err
	}
	id, err := jsonv2.Marshal(r.ID.Raw())
	if err != nil {
		return nil, err
	}
	return [][]byte{[]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"result":`), r.Result, []byte("}")}, nil
}

// newErrorResponse returns a JSON-RPC error response. The id is null if it is unknown.
func newErrorResponse(id json.RawMessage, code int64, text string, data ...any) []byte {
	failure := map[string]any{"code": code, "message": text}
	if len(data) > 0 {
		failure["data"] = data[0]
	}
	response, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": failure}) // can't fail
	return response
}

// messageErrorCode returns the JSON-RPC error code for invalid JSON, or for JSON that is no message.
func messageErrorCode(data []byte) int64 {
	if json.Valid(data) {
		return jsonrpc.CodeInvalidRequest
	}
	return jsonrpc.CodeParseError
}

// findMessageID returns the id of an invalid or truncated message; nil if it can't be found.
func findMessageID(data []byte) json.RawMessage {
	in := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if begin, err := in.ReadToken(); err != nil || begin.Kind() != '{' {
		return nil
	}
	for {
		name, err := in.ReadValue()
		isID := string(name) == `"id"`
		if err != nil {
			break
		}
		value, err := in.ReadValue()
		if err != nil {
			break
		}
		if isID && (value.Kind() == '"' || value.Kind() == '0') {
			return json.RawMessage(value)
		}
	}
	if match := trailingID().FindSubmatch(data); match != nil && !json.Valid(data) {
		return match[1]
	}
	return nil
}

// trailingID matches an id as the last member of a message, where most clients have it.
var trailingID = lazyregexp.New(`,\s*"id"\s*:\s*("[^"\\]{0,256}"|-?[0-9]{1,16})\s*\}$`)

// requestIDPreserver preserves request ids that the SDK would change: it parses a number as float64 and drops its fraction.
// Such a number passes through the SDK as a string that starts with a random prefix.
type requestIDPreserver struct{ prefix []byte }

func newIDPreserver() requestIDPreserver { return requestIDPreserver{[]byte(rand.Text() + ":")} }

// quoteIDs quotes the ids that the SDK would change, as strings: the message's own, and that of a cancelled request.
func (e requestIDPreserver) quoteIDs(message []byte) []byte {
	if !hasInexactID(message) {
		return message
	}
	var m struct {
		ID     valueSpan `json:"id"`
		Params struct {
			RequestID valueSpan `json:"requestId"`
		} `json:"params"`
	}
	_ = jsonv2.Unmarshal(message, &m, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // the decoder refuses it
	spans := []valueSpan{m.ID, m.Params.RequestID}
	if spans[0].start > spans[1].start {
		spans[0], spans[1] = spans[1], spans[0]
	}
	var quoted []byte
	at := int64(0)
	for _, s := range spans {
		if value := message[s.start:s.end]; isInexactNumber(value) {
			quoted = slices.Concat(quoted, message[at:s.start], []byte{'"'}, e.prefix, value, []byte{'"'})
			at = s.end
		}
	}
	return append(quoted, message[at:]...)
}

// restoreIDs returns data of the SDK with the numbers that quoteIDs replaced.
func (e requestIDPreserver) restoreIDs(data []byte) []byte {
	for len(e.prefix) > 0 {
		start := bytes.Index(data, append([]byte{'"'}, e.prefix...))
		if start < 0 {
			return data
		}
		number, rest, found := bytes.Cut(data[start+1+len(e.prefix):], []byte{'"'})
		if !found || !json.Valid(number) {
			return data
		}
		data = bytes.Join([][]byte{data[:start], number, rest}, nil)
	}
	return data
}

// hasInexactID reports whether a message may have a number as an id that the SDK would change.
func hasInexactID(message []byte) bool {
	for _, name := range []string{`"id"`, `"requestId"`} {
		for rest := message; ; {
			_, after, found := bytes.Cut(rest, []byte(name))
			if !found {
				break
			}
			rest = after
			value := bytes.TrimLeft(after, " \t\r\n:")
			if end := bytes.IndexAny(value[:min(len(value), 1<<10)], ",} \t\r\n"); end > 0 && isInexactNumber(value[:end]) {
				return true
			}
		}
	}
	return false
}

// isInexactNumber reports whether text is a number that is no integer, or is too large for a float64.
func isInexactNumber(text []byte) bool {
	const maxExact = 1 << 53
	if k := jsontext.Value(text).Kind(); k != '0' {
		return false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return (err != nil || n < -maxExact || n > maxExact) && json.Valid(text)
}

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
