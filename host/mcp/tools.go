package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// describe is what clients are told of a tool, but for its schemas.
func describe(t host.Tool) *mcp.Tool {
	return &mcp.Tool{
		Name:        clientName(t),
		Description: t.Spec.Doc,
		InputSchema: &jsonschema.Schema{Type: "object"}, // until somebody asks: see schemas
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint:    t.Spec.ReadOnly,
			DestructiveHint: &t.Spec.Destructive,
			IdempotentHint:  t.Spec.Idempotent,
			OpenWorldHint:   &t.Spec.OpenWorld,
		},
	}
}

// clientName is a tool's name as clients take it: they do not agree on dots in names.
func clientName(t host.Tool) string { return strings.ReplaceAll(t.Name, ".", "_") }

// schemas puts the tools' schemas into the list of tools. A client that only connects does not wait for them.
func schemas(tools []host.Tool) mcp.Middleware {
	byName := make(map[string]func() (*published, error), len(tools))
	for _, t := range tools {
		byName[clientName(t)] = sync.OnceValues(func() (*published, error) { return publish(t) })
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			list, ok := result.(*mcp.ListToolsResult)
			if err != nil || !ok {
				return result, err
			}
			for i, listed := range list.Tools {
				known := byName[listed.Name]
				if known == nil {
					continue
				}
				p, err := known()
				if err != nil {
					return nil, fmt.Errorf("tool %s: %w", listed.Name, err)
				}
				with := *listed
				with.InputSchema = p.input
				if p.output != nil {
					with.OutputSchema = p.output
				}
				list.Tools[i] = &with
			}
			return list, nil
		}
	}
}

// published are a tool's schemas as clients are given them.
type published struct{ input, output json.RawMessage }

func publish(t host.Tool) (*published, error) {
	var p published
	var err error
	if p.input, err = withoutClaims(t.Spec.Input); err != nil {
		return nil, err
	}
	if t.Spec.Output != nil && !t.Spec.TextResult {
		p.output, err = withoutClaims(t.Spec.Output)
	}
	return &p, err
}

// withoutClaims is a schema without what is between a plugin and its host.
func withoutClaims(s *pluginpb.Schema) (json.RawMessage, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var schema any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	dropClaims(schema)
	return json.Marshal(schema)
}

func dropClaims(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, pluginpb.ClaimKey)
		for _, below := range v {
			dropClaims(below)
		}
	case []any:
		for _, below := range v {
			dropClaims(below)
		}
	}
}
