package main

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// codeBadResult is the error code of a result that violates the tool's schema.
const codeBadResult = "bad_result"

// convertResult converts a result of the server to one of the SDK.
func (s *mcpServer) convertResult(spec pluginpb.ToolSpec, result *mcp.CallToolResult) (sdk.Result, error) {
	out := sdk.Result{}
	for _, c := range result.Content {
		block := convertContent(c)
		if block.URI == "" && block.Data == nil && len(out.Content) == 0 {
			if out.Text != "" {
				out.Text += "\n"
			}
			out.Text += block.Text
			continue
		}
		out.Content = append(out.Content, block)
	}
	if result.StructuredContent != nil {
		text, err := json.Marshal(result.StructuredContent)
		if err != nil {
			return sdk.Result{}, err
		}
		out.Structured = text
	}
	if result.IsError {
		message := out.Text
		if strings.TrimSpace(message) == "" {
			message = "the server reports a failure without a reason"
		}
		out.Text = ""
		return out, sdk.Errorf(sdk.Failed, "%s", message)
	}
	if err := s.validateStructured(spec, result); err != nil {
		out.Structured = nil // readers may rely on the schema
		return out, err
	}
	return out, nil
}

// validateStructured checks a structured result against the tool's schema.
func (s *mcpServer) validateStructured(spec pluginpb.ToolSpec, result *mcp.CallToolResult) error {
	schema, err := s.outputSchema(spec)
	switch {
	case err != nil:
		return err
	case schema == nil:
		return nil
	case result.StructuredContent == nil:
		return sdk.Errorf(codeBadResult, "the result of server %s for %s lacks the structured content that its schema requires",
			s.id, spec.Name)
	}
	if err := schema.Validate(result.StructuredContent); err != nil {
		return sdk.Errorf(codeBadResult, "the result of server %s for %s violates its schema: %v", s.id,
			spec.Name, err)
	}
	return nil
}

// convertContent converts one content block of a result.
func convertContent(c mcp.Content) sdk.Content {
	switch c := c.(type) {
	case *mcp.TextContent:
		return sdk.Content{Text: c.Text}
	case *mcp.ImageContent:
		return sdk.Content{Data: c.Data, MediaType: c.MIMEType}
	case *mcp.AudioContent:
		return sdk.Content{Data: c.Data, MediaType: c.MIMEType}
	case *mcp.EmbeddedResource:
		return sdk.Content{Text: c.Resource.Text, Data: c.Resource.Blob, MediaType: c.Resource.MIMEType, URI: c.Resource.URI}
	case *mcp.ResourceLink:
		text := c.Name
		if c.Description != "" {
			text += ": " + c.Description
		}
		return sdk.Content{Text: text + " (" + c.URI + ")"}
	}
	return sdk.Content{Text: "(content of an unknown type)"}
}
