package mcp

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

// flatten makes the flat form that a result of answer's has in a version of the protocol. There is none of something else,
// such as a question.
func flatten(r *mcp.CallToolResult, version string) (*flat, bool) {
	if r.InputRequests != nil || r.RequestState != "" {
		return nil, false
	}
	out := &flat{ResultBase: mcp.ResultBase{Meta: r.Meta}, Content: []any{}, IsError: r.IsError}
	if version >= inRounds {
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
			return nil, false
		}
	}
	switch structured := r.StructuredContent.(type) {
	case nil:
	case json.RawMessage:
		if version >= structuredSince || len(out.Content) == 0 {
			out.Structured = &structured // others know the text alone
		}
	default:
		return nil, false
	}
	return out, true
}

// appendAnswer appends the answer to a call, as the library would write it, and a line feed. It is the members of flat, in
// their order: an encoder takes three times as long for a result of a kilobyte.
func (f *flat) appendAnswer(line []byte, id jsonrpc.ID) []byte {
	line = appendID(append(line, `{"jsonrpc":"2.0","id":`...), id)
	line = append(line, `,"result":{`...)
	if len(f.Meta) > 0 {
		line = append(appendMeta(append(line, `"_meta":`...), f.Meta), ',')
	}
	if f.ResultType != "" {
		line = append(appendText(append(line, `"resultType":`...), f.ResultType), ',')
	}
	line = append(line, `"content":[`...)
	for i, block := range f.Content {
		if i > 0 {
			line = append(line, ',')
		}
		switch b := block.(type) {
		case flatText:
			line = appendText(append(line, `{"type":"text","text":`...), b.Text)
		case flatMedia:
			line = appendText(append(line, `{"type":`...), b.Type)
			line = base64.StdEncoding.AppendEncode(append(line, `,"data":"`...), b.Data)
			line = appendText(append(line, `","mimeType":`...), b.MIMEType)
		}
		line = append(line, '}')
	}
	line = append(line, ']')
	if f.Structured != nil {
		line = append(append(line, `,"structuredContent":`...), *f.Structured...)
	}
	if f.IsError {
		line = append(line, `,"isError":true`...)
	}
	return append(line, "}}\n"...)
}

func appendMeta(line []byte, meta mcp.Meta) []byte {
	line = append(line, '{')
	for i, name := range slices.Sorted(maps.Keys(meta)) {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(appendText(line, name), ':')
		value, ok := meta[name].(json.RawMessage)
		if !ok {
			value, _ = jsonv2.Marshal(meta[name], jsonv2.Deterministic(true)) // it has nothing that could fail
		}
		line = append(line, value...)
	}
	return append(line, '}')
}

func appendID(line []byte, id jsonrpc.ID) []byte {
	switch id := id.Raw().(type) {
	case string:
		return appendText(line, id)
	case int64:
		return strconv.AppendInt(line, id, 10)
	}
	return append(line, "null"...)
}

// appendText appends a string. What is not UTF-8 in it becomes U+FFFD, and what ends a line for some readers is escaped.
func appendText(line []byte, text string) []byte {
	begin := len(line)
	line, _ = jsontext.AppendQuote(line, text)
	if strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029") {
		quoted := strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`).Replace(string(line[begin:]))
		line = append(line[:begin], quoted...)
	}
	return line
}
