package sdk

import (
	"bytes"
	"encoding/json"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Content is one block of a result: a text to read, something to look at or listen to, or a resource.
type Content struct {
	Text      string
	Data      []byte // what is no text
	MediaType string // what Data or a resource's Text is, such as "image/png"
	URI       string // of a resource, whose contents are Text or Data; empty for the others
}

// Result is what a tool of [NewSpecTool] has to say.
type Result struct {
	Text       string          // what the agent reads
	Structured json.RawMessage // the typed result, a JSON object that fits the specification's schema; nil for none
	Content    []Content       // what goes along with the text, in order
	Undo       string          // the id of the operation in the undo store that takes the changes back; empty for none
}

// texter is implemented by results that have a form for people.
type texter interface{ Text() string }

// undoable is implemented by results that name the operation in the undo store that takes the call's changes back.
type undoable interface{ UndoID() string }

// contented is implemented by results that have more than a text.
type contented interface{ Contents() []Content }

// encode puts what a handler has returned on the wire. There is a result, if an empty one, beside an error too.
func encode(out any) (*pluginpb.Result, error) {
	switch out := out.(type) {
	case string:
		return &pluginpb.Result{Text: valid(out)}, nil
	case []Content:
		result := &pluginpb.Result{}
		addContent(result, out)
		return result, nil
	case Result:
		result := &pluginpb.Result{Text: valid(out.Text), Structured: out.Structured, Undo: valid(out.Undo)}
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
	if t, ok := out.(texter); ok {
		result.Text = valid(t.Text())
	} else {
		result.TextIsStructured = true
	}
	if u, ok := out.(undoable); ok {
		result.Undo = valid(u.UndoID())
	}
	if c, ok := out.(contented); ok {
		addContent(result, c.Contents())
	}
	return result, nil
}

// addContent puts blocks behind a result's text.
func addContent(r *pluginpb.Result, blocks []Content) {
	for _, b := range blocks {
		r.Content = append(r.Content, &pluginpb.Content{
			Text: valid(b.Text), Data: b.Data, MediaType: valid(b.MediaType), Uri: valid(b.URI),
		})
	}
}
