package mcp

import (
	"errors"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// levelParams are those of logging/setLevel.
type levelParams struct {
	Level string `json:"level"`
}

// paramsOf is what a method's parameters are read into, nil for a method whose parameters say nothing.
func paramsOf(method string) any {
	switch method {
	case "initialize":
		return new(mcp.InitializeParams)
	case "tools/list":
		return new(mcp.ListToolsParams)
	case "tools/call":
		return new(mcp.CallToolParamsRaw)
	case "logging/setLevel":
		return new(levelParams)
	case "prompts/list":
		return new(mcp.ListPromptsParams)
	case "prompts/get":
		return new(mcp.GetPromptParams)
	case "resources/list":
		return new(mcp.ListResourcesParams)
	case "resources/templates/list":
		return new(mcp.ListResourceTemplatesParams)
	case "resources/read":
		return new(mcp.ReadResourceParams)
	default:
		return nil
	}
}

// mistyped is where in a request's parameters, which are an object, something is of another type than the protocol has it;
// empty if nothing is.
func mistyped(r *jsonrpc.Request) string {
	into := paramsOf(r.Method)
	if into == nil {
		return ""
	}
	err := jsonv2.Unmarshal(r.Params, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var wrong *jsonv2.SemanticError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &wrong) && wrong.JSONPointer != "":
		return strings.ReplaceAll(strings.TrimPrefix(string(wrong.JSONPointer), "/"), "/", ".")
	default:
		return "something"
	}
}
