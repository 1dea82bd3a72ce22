package sdk

import (
	"bytes"
	"encoding/json"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Content is one block of a result: text, media, or a resource.
type Content struct {
	Text      string
	Data      []byte // binary data
	MediaType string // type of Data or of a resource's Text, such as "image/png"
	URI       string // of a resource; empty for other blocks
	Role      string // of a prompt message: "user" (default) or "assistant"
}

// Result is the result of a tool of [NewSpecTool].
type Result struct {
	Text       string          // text for the agent
	Structured json.RawMessage // typed result, a JSON object that fits the specification's schema; nil for none
	Content    []Content       // content blocks after the text
	Undo       string          // id of the operation in the undo store that undoes the changes; empty for none
}

// textResult is implemented by results with a text for people.
type textResult interface{ Text() string }

// undoableResult is implemented by results with an id in the undo history.
type undoableResult interface{ UndoID() string }

// contentResult is implemented by results with content blocks.
type contentResult interface{ Contents() []Content }

// encodeResult converts a handler's result for the wire. If the result can't be encoded as JSON, it returns an empty
// one besides the error.
func encodeResult(out any) (*pluginpb.Result, error) {
	switch out := out.(type) {
	case string:
		return &pluginpb.Result{Text: toValidUTF8(out)}, nil
	case []Content:
		result := &pluginpb.Result{}
		appendContent(result, out)
		return result, nil
	case Result:
		result := &pluginpb.Result{Text: toValidUTF8(out.Text), Structured: out.Structured, Undo: toValidUTF8(out.Undo)}
		appendContent(result, out.Content)
		return result, nil
	}
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false) // agents read it as it stands: a < has to be one
	if err := e.Encode(out); err != nil {
		return &pluginpb.Result{}, err
	}
	result := &pluginpb.Result{Structured: bytes.TrimSuffix(data.Bytes(), []byte{'\n'})}
	if t, ok := out.(textResult); ok {
		result.Text = toValidUTF8(t.Text())
	} else {
		result.TextIsStructured = true
	}
	if u, ok := out.(undoableResult); ok {
		result.Undo = toValidUTF8(u.UndoID())
	}
	if c, ok := out.(contentResult); ok {
		appendContent(result, c.Contents())
	}
	return result, nil
}

func appendContent(r *pluginpb.Result, blocks []Content) {
	for _, b := range blocks {
		r.Content = append(r.Content, &pluginpb.Content{
			Text: toValidUTF8(b.Text), Data: b.Data, MediaType: toValidUTF8(b.MediaType), Uri: toValidUTF8(b.URI),
			Role: toValidUTF8(b.Role),
		})
	}
}
