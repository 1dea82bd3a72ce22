package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The SDK reads and writes messages by way of general encoders. At each message those allocate buffers of 64 KB, and read
// results again that are marshalled already. Requests and results, which are nearly all messages, are done here.

// envelope is a request, or what else has a method.
type envelope struct {
	Version string         `json:"jsonrpc"`
	ID      any            `json:"id"`
	Method  *string        `json:"method"`
	Params  jsontext.Value `json:"params"`
}

// decode reads a message. What is wrong within parameters is for those who read them to say.
func decode(data []byte) (jsonrpc.Message, error) {
	var e envelope
	if err := jsonv2.Unmarshal(data, &e, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	if e.Version != "2.0" {
		return nil, fmt.Errorf(`"jsonrpc" is %q, not "2.0"`, e.Version)
	}
	if e.Method == nil {
		return jsonrpc.DecodeMessage(data) // an answer
	}
	id, err := jsonrpc.MakeID(e.ID)
	if err != nil {
		return nil, errors.New("an id has to be a string or a number")
	}
	return &jsonrpc.Request{ID: id, Method: *e.Method, Params: json.RawMessage(e.Params)}, nil
}

// encode writes a message. A result is marshalled already and is only put into its place.
func encode(message jsonrpc.Message) ([]byte, error) {
	r, ok := message.(*jsonrpc.Response)
	if !ok || r.Error != nil || len(r.Result) == 0 {
		return jsonrpc.EncodeMessage(message)
	}
	id, err := json.Marshal(r.ID.Raw())
	if err != nil {
		return nil, err
	}
	const before, between, after = `{"jsonrpc":"2.0","id":`, `,"result":`, `}`
	data := make([]byte, 0, len(before)+len(id)+len(between)+len(r.Result)+len(after)+1) // and a line feed
	data = append(append(append(data, before...), id...), between...)
	return append(append(data, r.Result...), after...), nil
}
