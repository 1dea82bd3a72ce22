package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/session"
)

// metaDetails is the _meta key for a text result's details.
const metaDetails = "io.github.picoclaw/details"

// toToolResult converts a call's result to MCP. An error explains the problem and the remedy to the model.
//
// Long data is sent once, because some clients show a model only the structured content, others only the text. A tool
// whose text is the result therefore has no structured content; its details go into _meta. Results of other tools are
// short.
func toToolResult(r *session.Result, textResult bool) *mcp.CallToolResult {
	out := &mcp.CallToolResult{}
	switch {
	case len(r.Structured) == 0:
	case textResult:
		if about := detailsMissingInText(r); about != nil {
			out.Meta = mcp.Meta{metaDetails: about}
		}
	default:
		out.StructuredContent = r.Structured
	}
	if len(r.Content) == 0 && (r.Text != "" || r.Err == nil) {
		out.Content = append(out.Content, &mcp.TextContent{Text: r.Text})
	}
	for _, c := range r.Content {
		out.Content = append(out.Content, toContentBlock(c))
	}
	if r.Err != nil {
		out.IsError = true
		out.Content = append(out.Content, &mcp.TextContent{Text: r.Err.AgentText()})
	}
	return out
}

func toContentBlock(c session.Content) mcp.Content {
	switch {
	case c.URI != "":
		return &mcp.EmbeddedResource{
			Resource: &mcp.ResourceContents{URI: c.URI, MIMEType: c.MediaType, Text: c.Text, Blob: c.Data},
		}
	case strings.HasPrefix(c.MediaType, "image/"):
		return &mcp.ImageContent{Data: c.Data, MIMEType: c.MediaType}
	case strings.HasPrefix(c.MediaType, "audio/"):
		return &mcp.AudioContent{Data: c.Data, MIMEType: c.MediaType}
	case len(c.Data) > 0:
		return &mcp.TextContent{Text: fmt.Sprintf("(%d bytes of %s, which can't be shown)", len(c.Data), c.MediaType)}
	}
	return &mcp.TextContent{Text: c.Text}
}

// marshalledResult is a tool result that was marshalled in one pass. The SDK would marshal its own type in pieces, and
// encoding/json would parse each piece again at every level.
type marshalledResult struct {
	mcp.ResultBase
	text []byte
}

// MarshalJSON returns the marshalled text.
func (p *marshalledResult) MarshalJSON() ([]byte, error) { return p.text, nil }

// marshalResult marshals a result that has no fields beside its content, for protocol versions without other fields.
func marshalResult(r *mcp.CallToolResult) (*marshalledResult, error) {
	type media struct {
		Type     string `json:"type"`
		Data     []byte `json:"data"`
		MIMEType string `json:"mimeType"`
	}
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	out := struct {
		Meta       mcp.Meta `json:"_meta,omitempty"`
		Content    []any    `json:"content"`
		Structured any      `json:"structuredContent,omitempty"`
		IsError    bool     `json:"isError,omitzero"`
	}{r.Meta, make([]any, 0, len(r.Content)), r.StructuredContent, r.IsError}
	length := 0
	for _, block := range r.Content {
		switch c := block.(type) {
		case *mcp.TextContent:
			length += len(c.Text)
			out.Content = append(out.Content, text{"text", c.Text})
		case *mcp.ImageContent:
			length += base64.StdEncoding.EncodedLen(len(c.Data))
			out.Content = append(out.Content, media{"image", c.Data, c.MIMEType})
		case *mcp.AudioContent:
			length += base64.StdEncoding.EncodedLen(len(c.Data))
			out.Content = append(out.Content, media{"audio", c.Data, c.MIMEType})
		default:
			out.Content = append(out.Content, block)
		}
	}
	var data bytes.Buffer         // MarshalWrite to a buffer avoids a copy
	data.Grow(length*3/2 + 4<<10) // the encoder needs a quarter to spare
	err := jsonv2.MarshalWrite(&data, out, jsontext.AllowInvalidUTF8(true), jsontext.EscapeForJS(true))
	return &marshalledResult{text: data.Bytes()}, err
}

// detailsMissingInText returns the structured details that a text result lacks. It drops strings that the text
// contains, and lists of objects, which the text presents. It returns nil if nothing is left.
func detailsMissingInText(r *session.Result) any {
	if r.Text == string(r.Structured) {
		return nil
	}
	in := jsontext.NewDecoder(bytes.NewBuffer(r.Structured)) // a buffer avoids a copy
	if begin, err := in.ReadToken(); err != nil || begin.Kind() != '{' {
		return r.Structured // not an object
	}
	kept := append(make([]byte, 0, min(len(r.Structured), 512)), '{')
	var known []byte // a value that the text contains; the streams of a command repeat a long one
	for in.PeekKind() == '"' {
		name, err := in.ReadValue()
		if err != nil {
			return r.Structured
		}
		before := len(kept)
		if before > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(kept, name...), ':') // copy before the decoder reuses the memory
		value, err := in.ReadValue()
		if err != nil {
			return r.Structured
		}
		if known != nil && bytes.Equal(known, value) {
			kept = kept[:before]
		} else if textContainsValue(value, r.Text) {
			end := in.InputOffset()
			known, kept = r.Structured[end-int64(len(value)):end], kept[:before]
		} else {
			kept = append(kept, value...)
		}
	}
	if len(kept) == 1 {
		return nil
	}
	return json.RawMessage(append(kept, '}'))
}

// textContainsValue reports whether text contains a string value, or value is a list of objects.
func textContainsValue(value jsontext.Value, text string) bool {
	switch value.Kind() {
	case '"':
		plain, err := jsontext.AppendUnquote(nil, value)
		return err == nil && (len(plain) == 0 || strings.Contains(text, string(plain)))
	case '[':
		var list []any
		return json.Unmarshal(value, &list) != nil || !slices.ContainsFunc(list, func(element any) bool {
			_, isObject := element.(map[string]any)
			_, isList := element.([]any)
			return !isObject && !isList
		})
	default:
		return false
	}
}
