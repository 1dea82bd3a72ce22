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

// isBatch reports whether data is a JSON array, which only version 2025-03-26 of the protocol allows.
func isBatch(data []byte) bool { return jsontext.Value(data).Kind() == '[' }

// decode reads a message, and refuses what has anything behind it, which the SDK would lose.
func decode(data []byte) (jsonrpc.Message, error) {
	var request struct {
		Version string         `json:"jsonrpc"`
		ID      any            `json:"id"`
		Method  string         `json:"method"`
		Params  jsontext.Value `json:"params"`
	}
	if isBatch(data) {
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

// encode returns the parts of a message. A result is marshalled already and is one of them as it is; the SDK would read
// and copy it once more.
func encode(message jsonrpc.Message) ([][]byte, error) {
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

// refusal is the answer to what is not passed on. The id is null where it could not be read.
func refusal(id json.RawMessage, code int64, text string) []byte {
	data, _ := json.Marshal(map[string]any{ // it has nothing that could fail
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text},
	})
	return data
}

// codeOf tells what is not JSON from what is JSON but no message.
func codeOf(data []byte) int64 {
	if json.Valid(data) {
		return jsonrpc.CodeInvalidRequest
	}
	return jsonrpc.CodeParseError
}

// idIn returns the id of a message that is broken or cut, nil if it can't be read.
func idIn(data []byte) json.RawMessage {
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
	if match := lastID().FindSubmatch(data); match != nil && !json.Valid(data) {
		return match[1]
	}
	return nil
}

// lastID is an id as the last member of a message, where most clients have it.
var lastID = lazyregexp.New(`,\s*"id"\s*:\s*("[^"\\]{0,256}"|-?[0-9]{1,16})\s*\}$`)
