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

// metaDetails is where what a tool tells about its text travels.
const metaDetails = "io.github.picoclaw/details"

// answer puts a result into the protocol's form. An error is for the model: what went wrong, and what would help.
//
// What can be long is sent once. Some clients show a model the structured content alone where there is any, others the
// text alone, so each has to say everything. A tool whose text is its result therefore has no structured content, and
// what only tells about that text goes into the metadata. The others are short.
func answer(r *session.Result, textResult bool) *mcp.CallToolResult {
	out := &mcp.CallToolResult{}
	switch {
	case len(r.Structured) == 0:
	case textResult:
		if about := details(r); about != nil {
			out.Meta = mcp.Meta{metaDetails: about}
		}
	default:
		out.StructuredContent = r.Structured
	}
	if len(r.Content) == 0 && (r.Text != "" || r.Err == nil) {
		out.Content = append(out.Content, &mcp.TextContent{Text: r.Text})
	}
	for _, c := range r.Content {
		out.Content = append(out.Content, block(c))
	}
	if r.Err != nil {
		out.IsError = true
		out.Content = append(out.Content, &mcp.TextContent{Text: r.Err.Explained()})
	}
	return out
}

// block puts a block of a result into the protocol's form.
func block(c session.Content) mcp.Content {
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

// plain is a result of a call that is marshalled in one pass. The SDK's own type marshals itself piece by piece, and
// encoding/json reads all that a type has marshalled once more, at every level: a megabyte is gone through five times.
type plain struct {
	mcp.ResultBase
	text []byte
}

// MarshalJSON returns the result as it was marshalled.
func (p *plain) MarshalJSON() ([]byte, error) { return p.text, nil }

// flatten makes a plain result of one that has nothing but content, in the versions of the protocol that say no more
// of it.
func flatten(r *mcp.CallToolResult) (*plain, error) {
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
	var data bytes.Buffer         // of which, unlike of what Marshal returns, no second copy is made and kept
	data.Grow(length*3/2 + 4<<10) // of which the encoder wants a quarter to spare
	err := jsonv2.MarshalWrite(&data, out, jsontext.AllowInvalidUTF8(true), jsontext.EscapeForJS(true))
	return &plain{text: data.Bytes()}, err
}

// details are what a result tells about its text: its structured form without what the text says already, such as
// what a command has printed or the matches that were found. Lists of more than plain values are what the text is
// there for. It is nil if there are none, such as where the text is the structured form itself.
func details(r *session.Result) any {
	if r.Text == string(r.Structured) {
		return nil
	}
	in := jsontext.NewDecoder(bytes.NewBuffer(r.Structured)) // of a buffer, the decoder makes no copy
	if begin, err := in.ReadToken(); err != nil || begin.Kind() != '{' {
		return r.Structured // it is no object
	}
	kept := append(make([]byte, 0, min(len(r.Structured), 512)), '{')
	for in.PeekKind() == '"' {
		name, err := in.ReadValue()
		if err != nil {
			return r.Structured
		}
		before := len(kept)
		if before > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(kept, name...), ':') // before the decoder uses its memory again
		value, err := in.ReadValue()
		if err != nil {
			return r.Structured
		}
		if said(value, r.Text) {
			kept = kept[:before]
		} else {
			kept = append(kept, value...)
		}
	}
	if len(kept) == 1 {
		return nil
	}
	return json.RawMessage(append(kept, '}'))
}

// said reports whether the text has a value already, or is there for it.
func said(value jsontext.Value, text string) bool {
	switch value.Kind() {
	case '"':
		plain, err := jsontext.AppendUnquote(nil, value)
		return err == nil && (len(plain) == 0 || strings.Contains(text, string(plain)))
	case '[':
		var list []any
		return json.Unmarshal(value, &list) != nil || !slices.ContainsFunc(list, isPlain)
	default:
		return false
	}
}

// isPlain reports whether a value in a list is neither an object nor a list.
func isPlain(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	default:
		return true
	}
}
