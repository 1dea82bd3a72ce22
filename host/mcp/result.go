package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host"
)

// metaDetails is where what a tool tells about its text travels.
const metaDetails = "io.github.picoclaw/details"

// answer puts a result into the protocol's form. An error is for the model: what went wrong, and what would help.
//
// Nothing is sent twice. Many clients show a model the structured content alone where there is any. So what only tells
// about a text that is the result goes into the metadata.
func answer(r *host.Result, textResult bool) *mcp.CallToolResult {
	out := &mcp.CallToolResult{}
	switch {
	case len(r.Structured) == 0:
	case textResult:
		out.Meta = mcp.Meta{metaDetails: details(r)}
	default:
		out.StructuredContent = r.Structured
	}
	if r.Text != "" || r.Err == nil {
		out.Content = append(out.Content, &mcp.TextContent{Text: r.Text})
	}
	switch {
	case len(r.Media) == 0:
	case strings.HasPrefix(r.MediaType, "image/"):
		out.Content = append(out.Content, &mcp.ImageContent{Data: r.Media, MIMEType: r.MediaType})
	case strings.HasPrefix(r.MediaType, "audio/"):
		out.Content = append(out.Content, &mcp.AudioContent{Data: r.Media, MIMEType: r.MediaType})
	}
	if r.Err != nil {
		out.IsError = true
		out.Content = append(out.Content, &mcp.TextContent{Text: errorText(r.Err)})
	}
	return out
}

// details are what a result tells about its text: its structured form without what the text says already, such as what a
// command has printed.
func details(r *host.Result) any {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.Structured, &members); err != nil {
		return r.Structured // it is no object
	}
	maps.DeleteFunc(members, func(_ string, value json.RawMessage) bool {
		var text string
		return value[0] == '"' && json.Unmarshal(value, &text) == nil && (text == "" || strings.Contains(r.Text, text))
	})
	return members
}

func errorText(e *host.Error) string {
	text := e.Message
	if e.Rule != "" {
		text += fmt.Sprintf("\n(rule %s)", e.Rule)
	}
	if e.Hint != "" {
		text += "\nhint: " + e.Hint
	}
	return text
}

// flat is a tool's result that is marshalled in one pass. The SDK's own type marshals itself piece by piece, and
// encoding/json reads all that a type has marshalled once more, at every level: a megabyte is gone through five times.
type flat struct {
	mcp.ResultBase

	ResultType string           `json:"resultType,omitempty"`
	Content    []any            `json:"content"`
	Structured *json.RawMessage `json:"structuredContent,omitempty"`
	IsError    bool             `json:"isError,omitempty"`
}

type flatText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type flatMedia struct {
	Type     string `json:"type"`
	Data     []byte `json:"data"`
	MIMEType string `json:"mimeType"`
}

// inRounds is the first version of the protocol in which results say whether they are complete.
const inRounds = "2026-07-28"

// flatten makes the flat form of a result of answer's. What is something else, such as a question, stays as it is.
func flatten(r *mcp.CallToolResult, s *mcp.ServerSession) mcp.Result {
	if r.InputRequests != nil || r.RequestState != "" {
		return r
	}
	out := &flat{ResultBase: mcp.ResultBase{Meta: r.Meta}, Content: []any{}, IsError: r.IsError}
	if p := s.InitializeParams(); p == nil || p.ProtocolVersion >= inRounds {
		out.ResultType = "complete"
	}
	for _, block := range r.Content {
		switch c := block.(type) {
		case *mcp.TextContent:
			out.Content = append(out.Content, flatText{"text", c.Text})
		case *mcp.ImageContent:
			out.Content = append(out.Content, flatMedia{"image", c.Data, c.MIMEType})
		case *mcp.AudioContent:
			out.Content = append(out.Content, flatMedia{"audio", c.Data, c.MIMEType})
		default:
			return r
		}
	}
	switch structured := r.StructuredContent.(type) {
	case nil:
	case json.RawMessage:
		out.Structured = &structured
	default:
		return r
	}
	return out
}
