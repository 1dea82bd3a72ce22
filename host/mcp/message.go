package mcp

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The SDK reads and writes messages by way of general encoders. At each message those allocate buffers of 64 KB, and read
// results again that are marshalled already. Requests and results, which are nearly all messages, are done here.

// envelope is a request, or what else has a method.
type envelope struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  *string        `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

// decode reads a message. What is wrong within parameters is for those who read them to say.
func decode(data []byte) (jsonrpc.Message, error) {
	var e envelope
	if err := jsonv2.Unmarshal(data, &e, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, unread(data)
	}
	if e.Version != "2.0" {
		return nil, unread(data)
	}
	if e.Method == nil {
		answer, err := jsonrpc.DecodeMessage(data)
		if err != nil || e.Result == nil && e.Error == nil {
			return nil, errors.New("it has no method, and is no answer with an id and a result or an error either")
		}
		return answer, nil
	}
	id, err := decodeID(e.ID)
	if err != nil {
		return nil, err
	}
	return &jsonrpc.Request{ID: id, Method: *e.Method, Params: json.RawMessage(e.Params)}, nil
}

// maxNumber is the largest number that every client and server reads alike.
const maxNumber = 1 << 53

// decodeID reads the id of a request; a notification has none. The library cuts what is behind the point off a number, and
// would answer another request than was asked.
func decodeID(text jsontext.Value) (jsonrpc.ID, error) {
	if text == nil {
		return jsonrpc.ID{}, nil
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && -maxNumber <= n && n <= maxNumber {
		return jsonrpc.MakeID(float64(n)) // what nearly all ids are
	}
	switch text.Kind() {
	case '"':
		var id string
		if err := jsonv2.Unmarshal(text, &id); err != nil { // what would be answered is another id
			return jsonrpc.ID{}, errors.New("an id that is a string has to be valid UTF-8, without single surrogates")
		}
		return jsonrpc.MakeID(id)
	case '0':
		number, err := strconv.ParseFloat(string(text), 64)
		if err != nil || number != math.Trunc(number) || math.Abs(number) >= maxNumber { // it may have been rounded to that
			return jsonrpc.ID{}, errors.New("an id that is a number has to be a whole one, and at most 2^53; or make it a string")
		}
		return jsonrpc.MakeID(number)
	}
	return jsonrpc.ID{}, errors.New("an id has to be a string or a number; a notification has no id")
}

// encode writes a message. A result is marshalled already and is only put into its place.
func encode(message jsonrpc.Message) ([]byte, error) {
	r, ok := message.(*jsonrpc.Response)
	if !ok || r.Error != nil || len(r.Result) == 0 {
		return jsonrpc.EncodeMessage(message)
	}
	id, err := jsonv2.Marshal(r.ID.Raw())
	if err != nil {
		return nil, err
	}
	const before, between, after = `{"jsonrpc":"2.0","id":`, `,"result":`, `}`
	data := make([]byte, 0, len(before)+len(id)+len(between)+len(r.Result)+len(after)+1) // and a line feed
	data = append(append(append(data, before...), id...), between...)
	return append(append(data, r.Result...), after...), nil
}
