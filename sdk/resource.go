package sdk

import (
	"context"
	"reflect"

	"github.com/picoclaw/picoclaw/sdk/internal/serve"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/schema"
)

// Resource is data that clients read by its URI, created by [NewResource].
type Resource = serve.Tool

// Prompt is a list of messages that users of clients insert, created by [NewPrompt].
type Prompt = serve.Tool

// NewResource returns a resource with a URI, such as notes://today, or a template of URIs, such as notes://{name} or
// file:///{+path}. {name} matches a part without "/", {+name} any text. In is a struct with a string field for each
// variable; `claim:"read"` marks a path, as for [NewTool]. The host also treats the path of a file: URI as a path to
// read. The contents are Text or Data; MediaType and URI may be empty.
func NewResource[In any](
	name, uri, doc, mediaType string, read func(ctx context.Context, req *Request[In]) (Content, error),
) Resource {
	spec := pluginpb.ToolSpec{Name: name, Doc: doc, URI: uri, MediaType: mediaType, ReadOnly: true}
	return serve.NewTool(spec, inferInputSchema[In], newRunFunc(name, func(ctx context.Context, req *Request[In]) ([]Content, error) {
		content, err := read(ctx, req)
		if err != nil {
			return nil, err
		}
		return []Content{content}, nil
	}))
}

// NewPrompt returns a prompt. In is a struct with a string field for each argument, as for [NewTool]. An `enum:"a,b"`
// tag lets clients complete the argument. The contents are the messages in order.
func NewPrompt[In any](
	name, doc string, write func(ctx context.Context, req *Request[In]) ([]Content, error),
) Prompt {
	return serve.NewTool(pluginpb.ToolSpec{Name: name, Doc: doc, ReadOnly: true}, inferInputSchema[In], newRunFunc(name, write))
}

// inferInputSchema sets the input schema of a resource or prompt, inferred from In.
func inferInputSchema[In any](s *pluginpb.ToolSpec) (err error) {
	s.Input, err = schema.InferInput(reflect.TypeFor[In]())
	return err
}
