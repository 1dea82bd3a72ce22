package sdk

import "github.com/picoclaw/picoclaw/sdk/pluginpb"

// Content is one block of a result: a text to read, something to look at or listen to, or a resource.
type Content struct {
	Text      string
	Data      []byte // what is no text
	MediaType string // what Data or a resource's Text is, such as "image/png"
	URI       string // of a resource, whose contents are Text or Data; empty for the others
}

// addContent puts blocks behind a result's text. A single picture or sound goes where hosts have always looked for it.
func addContent(r *pluginpb.Result, blocks []Content) {
	if len(blocks) == 1 && blocks[0].URI == "" && blocks[0].Text == "" {
		r.Media, r.MediaType = blocks[0].Data, blocks[0].MediaType
		return
	}
	for _, b := range blocks {
		r.Content = append(r.Content, &pluginpb.Content{
			Text: valid(b.Text), Data: b.Data, MediaType: valid(b.MediaType), Uri: valid(b.URI),
		})
	}
}
