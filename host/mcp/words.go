package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/sdk/nearest"
)

// What is wrong with a message is for whoever writes clients, or is one: it says what was found where, and what would be
// right. The library's own errors name its types in Go.

// methods are those that clients ask for and this server answers.
func methods() []string {
	return []string{"initialize", "ping", "tools/list", "tools/call"}
}

// unserved are those that the library knows, and this server does not answer but in the version that has no initialize.
func unserved() []string {
	return []string{"completion/complete", "resources/subscribe", "resources/unsubscribe", "server/discover", "subscriptions/listen"}
}

// unread says why data can't be read as a message.
func unread(data []byte) error {
	var whole any
	if err := json.Unmarshal(data, &whole); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	members, ok := whole.(map[string]any)
	if !ok {
		return fmt.Errorf("it is %s, not an object; send one message at a time", kindOf(data))
	}
	if members["jsonrpc"] != "2.0" {
		return errors.New(`it has to have "jsonrpc":"2.0"`)
	}
	return errors.New(`its "method" has to be a string`)
}

// kindOf names the kind of a JSON value, as in a sentence.
func kindOf(value jsontext.Value) string {
	switch value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	default:
		return "null"
	}
}

// notBegun and begunTwice are what requests are told that come before a session, or would begin it again.
func notBegun(method string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: fmt.Sprintf("%s comes before initialize; send initialize first, then notifications/initialized", method)}
}

func begunTwice() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "this session is initialized already; go on with it, or connect again to begin another"}
}

func noMethod(method string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("there is no method %q here%s",
		method, nearest.Suggest(method, methods()))}
}

// levels are the protocol's names for how grave a message of a log is.
func levels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

// noLevel says what is wrong with the level that a client wants to be told of, nil if nothing is. The library takes any.
func noLevel(params mcp.Params) error {
	var p levelParams
	if data, err := json.Marshal(params); err == nil {
		_ = json.Unmarshal(data, &p) // it came out of JSON of this form
	}
	switch {
	case p.Level == "":
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "logging/setLevel: params have no level; it is one of " + strings.Join(levels(), ", ")}
	case !slices.Contains(levels(), p.Level):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("logging/setLevel: there is no level %q%s; the levels are %s",
			p.Level, nearest.Suggest(p.Level, levels()), strings.Join(levels(), ", "))}
	}
	return nil
}

// unfit says what is wrong with a request's parameters as every method takes them, nil if nothing is.
func unfit(r *jsonrpc.Request) *jsonrpc.Error {
	complain := func(format string, args ...any) *jsonrpc.Error {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: r.Method + ": " + fmt.Sprintf(format, args...)}
	}
	if len(r.Params) == 0 || string(r.Params) == "null" {
		switch r.Method {
		case "tools/call":
			return complain("params are missing; they have the tool's name and its arguments")
		case "initialize":
			return complain("params are missing; they have protocolVersion, capabilities and clientInfo")
		}
		return nil
	}
	var params map[string]jsontext.Value
	if err := jsonv2.Unmarshal(r.Params, &params, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return complain("params have to be an object, not %s", kindOf(jsontext.Value(r.Params)))
	}
	if meta, ok := params["_meta"]; ok && meta.Kind() != '{' && meta.Kind() != 'n' {
		return complain("_meta has to be an object, not %s", kindOf(meta))
	}
	if r.Method == "tools/call" {
		switch name, ok := params["name"]; {
		case !ok:
			return complain("params have no name; it is that of a tool, as tools/list has it")
		case name.Kind() != '"':
			return complain("name has to be a string, not %s", kindOf(name))
		}
	}
	if place := mistyped(r); place != "" {
		return complain("%s in params is of another type than the protocol has it", place)
	}
	return nil
}

// inWords is what a request is answered with for an error of the library's. The request may be nil.
func inWords(r *jsonrpc.Request, err error) error {
	if r == nil {
		return err
	}
	var code int64
	if e := (*jsonrpc.Error)(nil); errors.As(err, &e) {
		code = e.Code
	}
	switch {
	case code == jsonrpc.CodeMethodNotFound:
		return noMethod(r.Method)
	case code == 0 && strings.HasPrefix(err.Error(), "duplicate"):
		return begunTwice()
	case code == 0 && strings.Contains(err.Error(), "during session initialization"):
		return notBegun(r.Method)
	}
	if wrong := unfit(r); wrong != nil {
		return wrong
	}
	if err.Error() == context.Canceled.Error() { // of the library's own kind, which says no more
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: r.Method + ": it was cancelled before it began"}
	}
	if code == 0 {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	if !strings.Contains(err.Error(), "unmarshal") {
		return err
	}
	return &jsonrpc.Error{Code: code, Message: r.Method + ": something in params is of another type than the protocol has it"}
}
