package sdk

import (
	"bytes"
	"encoding/json"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Content is one block of a result: text, media, or a resource.
type Content struct {
	Text      string
	Data      []byte // what is no text
	MediaType string // what Data or a resource's Text is, such as "image/png"
	URI       string // of a resource, whose contents are Text or Data; empty for the others
	Role      string // of a prompt's message: "user", which empty stands for, or "assistant"
}

// Result is the result of a tool of [NewSpecTool].
type Result struct {
	Text       string          // what the agent reads
	Structured json.RawMessage // the typed result, a JSON object that fits the specification's schema; nil for none
	Content    []Content       // what goes along with the text, in order
	Undo       string          // the id of the operation in the undo store that takes the changes back; empty for none
}

// textResult is implemented by results with a text for people.
type textResult interface{ Text() string }

// undoableResult is implemented by results with an id in the undo history.
type undoableResult interface{ UndoID() string }

// contentResult is implemented by results with content blocks.
type contentResult interface{ Contents() []Content }

// encodeResult converts a handler's result to the wire's form. The result may be empty beside an error.
func encodeResult(out any) (*pluginpb.Result, error) {
	switch out := out.(type) {
	case string:
		return &pluginpb.Result{Text: validUTF8(out)}, nil
	case []Content:
		result := &pluginpb.Result{}
		addContent(result, out)
		return result, nil
	case Result:
		result := &pluginpb.Result{Text: validUTF8(out.Text), Structured: out.Structured, Undo: validUTF8(out.Undo)}
		addContent(result, out.Content)
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
		result.Text = validUTF8(t.Text())
	} else {
		result.TextIsStructured = true
	}
	if u, ok := out.(undoableResult); ok {
		result.Undo = validUTF8(u.UndoID())
	}
	if c, ok := out.(contentResult); ok {
		addContent(result, c.Contents())
	}
	return result, nil
}

// addContent appends content blocks to a result.
func addContent(r *pluginpb.Result, blocks []Content) {
	for _, b := range blocks {
		r.Content = append(r.Content, &pluginpb.Content{
			Text: validUTF8(b.Text), Data: b.Data, MediaType: validUTF8(b.MediaType), Uri: validUTF8(b.URI),
			Role: validUTF8(b.Role),
		})
	}
}
