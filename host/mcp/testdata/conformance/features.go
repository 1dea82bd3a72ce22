package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/sdk"
)

// resources are the resources that the suite reads.
func resources() []sdk.Resource {
	text := func(text string) func(context.Context, *sdk.Request[none]) (sdk.Content, error) {
		return func(context.Context, *sdk.Request[none]) (sdk.Content, error) { return sdk.Content{Text: text}, nil }
	}
	return []sdk.Resource{
		sdk.NewResource("static_text", "test://static-text", "A text.", "text/plain",
			text("This is the content of the static text resource.")),
		sdk.NewResource("static_binary", "test://static-binary", "A picture.", "image/png",
			func(context.Context, *sdk.Request[none]) (sdk.Content, error) { return pixel() }),
		sdk.NewResource("watched", "test://watched-resource", "A text that changes.", "text/plain", text("watched")),
		sdk.NewResource("file", "file:///{+path}", "Says what it would read.", "text/plain",
			func(_ context.Context, req *sdk.Request[filePath]) (sdk.Content, error) {
				return sdk.Content{Text: req.Args.Path}, nil
			}),
		sdk.NewResource("template", "test://template/{id}/data", "Data of an id.", "application/json", templateData),
	}
}

type filePath struct {
	Path string `json:"path" jsonschema:"which file"`
}

type templateID struct {
	ID string `json:"id" jsonschema:"which data"`
}

func templateData(_ context.Context, req *sdk.Request[templateID]) (sdk.Content, error) {
	text, err := json.Marshal(map[string]any{"id": req.Args.ID, "templateTest": true, "data": "Data for ID: " + req.Args.ID})
	return sdk.Content{Text: string(text)}, err
}

type twoArguments struct {
	Arg1 string `json:"arg1" jsonschema:"first test argument" enum:"testValue1,hello,test"`
	Arg2 string `json:"arg2" jsonschema:"second test argument"`
}

type resourceURI struct {
	URI string `json:"resourceUri" jsonschema:"URI of the resource to embed"`
}

// prompts are the prompts that the suite gets.
func prompts() []sdk.Prompt {
	return []sdk.Prompt{
		sdk.NewPrompt("test_simple_prompt", "A simple prompt.", func(context.Context, *sdk.Request[none]) ([]sdk.Content, error) {
			return []sdk.Content{{Text: "This is a simple prompt for testing."}}, nil
		}),
		sdk.NewPrompt("test_prompt_with_arguments", "A prompt with arguments.",
			func(_ context.Context, req *sdk.Request[twoArguments]) ([]sdk.Content, error) {
				return []sdk.Content{{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", req.Args.Arg1, req.Args.Arg2)}}, nil
			}),
		sdk.NewPrompt("test_prompt_with_embedded_resource", "A prompt with a resource.",
			func(_ context.Context, req *sdk.Request[resourceURI]) ([]sdk.Content, error) {
				return []sdk.Content{
					{URI: req.Args.URI, MediaType: "text/plain", Text: "Embedded resource content for testing."},
					{Text: "Please process the embedded resource above."},
				}, nil
			}),
		sdk.NewPrompt("test_prompt_with_image", "A prompt with a picture.",
			func(context.Context, *sdk.Request[none]) ([]sdk.Content, error) {
				picture, err := pixel()
				return []sdk.Content{picture, {Text: "Please analyze the image above."}}, err
			}),
		sdk.NewPrompt("test_input_required_result_prompt", "A prompt that asks.",
			func(ctx context.Context, req *sdk.Request[none]) ([]sdk.Content, error) {
				text, err := ask(ctx, req, "What context should the prompt use?",
					`{"type":"object","title":"user_context","properties":{"context":{"type":"string"}},"required":["context"]}`)
				return []sdk.Content{{Text: text, Role: "assistant"}}, err
			}),
	}
}

// question returns a form with one text field.
func question(name, message, field string) sdk.Question {
	return sdk.Question{Name: name, Message: message, Form: &jsonschema.Schema{Type: "object",
		Properties: map[string]*jsonschema.Schema{field: {Type: "string"}}, Required: []string{field}}}
}

// request returns a request to the client's model.
func request(name, text string, tokens int) sdk.Question {
	return sdk.Question{Name: name, Sampling: map[string]any{"maxTokens": tokens, "messages": []any{
		map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": text}}}}}
}

// askClient asks questions and returns the answers.
func askClient[In any](ctx context.Context, req *sdk.Request[In], first sdk.Question, more ...sdk.Question) (string, error) {
	answers, err := req.AskAll(ctx, first, more...)
	text := ""
	for _, a := range answers {
		text += string(a.Values) + "\n"
	}
	return text, err
}

type modelPrompt struct {
	Prompt string `json:"prompt" jsonschema:"what to ask the model"`
}

// clientTools are the tools that ask the client.
func clientTools() []sdk.Tool {
	readOnly := sdk.Traits{ReadOnly: true}
	roots := sdk.Question{Name: "client_roots", Roots: true}
	return []sdk.Tool{
		sdk.NewTool("test_sampling", "Asks the model.", func(ctx context.Context, req *sdk.Request[modelPrompt]) (string, error) {
			text, err := askClient(ctx, req, request("answer", req.Args.Prompt, 100))
			return "LLM response: " + text, err
		}, readOnly),
		sdk.NewTool("test_input_required_result_sampling", "Asks the model.", func(ctx context.Context, req *sdk.Request[none]) (string, error) {
			return askClient(ctx, req, request("capital_question", "What is the capital of France?", 100))
		}, readOnly),
		sdk.NewTool("test_missing_capability", "Asks the model.", func(ctx context.Context, req *sdk.Request[none]) (string, error) {
			_, err := askClient(ctx, req, request("answer", "Are you there?", 10))
			return "", err
		}, readOnly),
		sdk.NewTool("test_input_required_result_list_roots", "Asks for roots.", func(ctx context.Context, req *sdk.Request[none]) (string, error) {
			return askClient(ctx, req, roots)
		}, readOnly),
		sdk.NewTool("test_input_required_result_multiple_inputs", "Asks for everything.",
			func(ctx context.Context, req *sdk.Request[none]) (string, error) {
				return askClient(ctx, req, question("user_name", "What is your name?", "name"), request("greeting", "Generate a greeting", 50), roots)
			}, readOnly),
		sdk.NewTool("test_input_required_result_capabilities", "Asks for what the client has.",
			func(ctx context.Context, req *sdk.Request[none]) (string, error) {
				var failed []error
				for _, q := range []sdk.Question{question("name", "Who is it?", "name"), request("greeting", "Generate a greeting", 50)} {
					text, err := askClient(ctx, req, q)
					if err == nil {
						return text, nil
					}
					failed = append(failed, err)
				}
				return "", errors.Join(failed...)
			}, readOnly),
	}
}
