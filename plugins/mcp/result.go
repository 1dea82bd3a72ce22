package main

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// badResult is the code of an answer that is not what the tool's schema says.
const badResult = "bad_result"

// result makes the wire's result of a server's.
func (s *server) result(spec pluginpb.Spec, said *mcp.CallToolResult) (sdk.Result, error) {
	out := sdk.Result{}
	for _, c := range said.Content {
		block := content(c)
		if block.URI == "" && block.Data == nil && len(out.Content) == 0 {
			if out.Text != "" {
				out.Text += "\n"
			}
			out.Text += block.Text
			continue
		}
		out.Content = append(out.Content, block)
	}
	if said.StructuredContent != nil {
		text, err := json.Marshal(said.StructuredContent)
		if err != nil {
			return sdk.Result{}, err
		}
		out.Structured = text
	}
	if said.IsError {
		message := out.Text
		if strings.TrimSpace(message) == "" {
			message = "the server says that it failed, and not why"
		}
		out.Text = ""
		return out, sdk.Errorf(sdk.Failed, "%s", message)
	}
	if err := s.fits(spec, said); err != nil {
		out.Structured = nil // whoever reads it would take it for what the schema says
		return out, err
	}
	return out, nil
}

// fits says what is wrong with a structured result, if anything is.
func (s *server) fits(spec pluginpb.Spec, said *mcp.CallToolResult) error {
	schema, err := s.validator(spec)
	switch {
	case err != nil:
		return err
	case schema == nil:
		return nil
	case said.StructuredContent == nil:
		return sdk.Errorf(badResult, "the server %s answered %s without the structured result that its schema promises",
			s.id, spec.Name)
	}
	if err := schema.Validate(said.StructuredContent); err != nil {
		return sdk.Errorf(badResult, "the server %s answered %s with something else than its schema says: %v", s.id,
			spec.Name, err)
	}
	return nil
}

// content is a block of a result.
func content(c mcp.Content) sdk.Content {
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
	return sdk.Content{Text: "(something of a kind that is not known here)"}
}
