package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

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
func newErrorResponse(id json.RawMessage, code int64, text string) []byte {
	data, _ := json.Marshal(map[string]any{ // marshalling can't fail
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text},
	})
	return data
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
