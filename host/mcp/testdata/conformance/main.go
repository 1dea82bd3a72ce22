// Command conformance is a plugin with the tools that the protocol's conformance suite calls, as far as a plugin can
// offer them.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/sdk"
)

type none struct{}

type asking struct {
	Message string `json:"message" jsonschema:"what to ask"`
}

func main() {
	sdk.Main(sdk.Plugin{
		ID: "conformance", Version: "1.0.0", Doc: "What the conformance suite calls.",
		Resources: resources(), Prompts: prompts(),
		Tools: append(slices.Concat(clientTools(), taskTools()),
			sdk.NewTool("test_simple_text", "Returns a text.", simpleText, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_image_content", "Returns a picture.", imageContent, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_audio_content", "Returns a sound.", audioContent, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_error_handling", "Fails.", errorHandling, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_tool_with_progress", "Tells how far it is.", toolWithProgress, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_tool_with_logging", "Logs what it does.", toolWithLogging, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_logging_tool", "Logs what it does.", toolWithLogging, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_multiple_content_types", "Returns several things.", multipleContentTypes,
				sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_embedded_resource", "Returns a resource.", embeddedResource, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_elicitation", "Asks a person.", elicitation, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_streaming_elicitation", "Asks with defaults.", defaults, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_input_required_result_elicitation", "Greets a person.", greeting, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_input_required_result_request_state", "Asks for confirmation.", confirm, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_input_required_result_tampered_state", "Asks for confirmation.", confirm, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_input_required_result_multi_round", "Asks twice.", twoQuestions, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_elicitation_sep1034_defaults", "Asks with defaults.", defaults, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_elicitation_sep1330_enums", "Asks for choices.", enums, sdk.Traits{ReadOnly: true}),
		),
	})
}

func simpleText(context.Context, *sdk.Request[none]) (string, error) {
	return "This is a simple text response for testing.", nil
}

// pixel is a picture.
func pixel() (sdk.Content, error) {
	pixel := image.NewRGBA(image.Rect(0, 0, 1, 1))
	pixel.Set(0, 0, color.RGBA{R: 255, A: 255})
	var data bytes.Buffer
	err := png.Encode(&data, pixel)
	return sdk.Content{MediaType: "image/png", Data: data.Bytes()}, err
}

func imageContent(context.Context, *sdk.Request[none]) ([]sdk.Content, error) {
	picture, err := pixel()
	return []sdk.Content{picture}, err
}

// audioContent returns a sound of no samples.
func audioContent(context.Context, *sdk.Request[none]) ([]sdk.Content, error) {
	return []sdk.Content{{MediaType: "audio/wav",
		Data: []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00" +
			"\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00")}}, nil
}

func multipleContentTypes(context.Context, *sdk.Request[none]) ([]sdk.Content, error) {
	picture, err := pixel()
	return []sdk.Content{
		{Text: "Multiple content types test:"},
		picture,
		{URI: "test://mixed-content-resource", MediaType: "application/json", Text: `{"test":"data","value":123}`},
	}, err
}

func embeddedResource(context.Context, *sdk.Request[none]) ([]sdk.Content, error) {
	return []sdk.Content{{URI: "test://embedded-resource", MediaType: "text/plain",
		Text: "This is an embedded resource content."}}, nil
}

func toolWithLogging(_ context.Context, req *sdk.Request[none]) (string, error) {
	for _, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		req.Log.Info(message)
	}
	return "all of it is logged", nil
}

func errorHandling(context.Context, *sdk.Request[none]) (string, error) {
	return "", sdk.Errorf("failed", "This tool intentionally returns an error for testing")
}

func toolWithProgress(_ context.Context, req *sdk.Request[none]) (string, error) {
	for _, done := range []float64{0, 50, 100} {
		req.ReportProgress(done, 100, "")
	}
	return "all of it is done", nil
}

func elicitation(ctx context.Context, req *sdk.Request[asking]) (string, error) {
	return ask(ctx, req, req.Args.Message, `{"type":"object","properties":{
		"username":{"type":"string","description":"User's response"},
		"email":{"type":"string","description":"User's email address"}},
		"required":["username","email"]}`)
}

func defaults(ctx context.Context, req *sdk.Request[none]) (string, error) {
	return ask(ctx, req, "Who is it?", `{"type":"object","properties":{
		"name":{"type":"string","default":"John Doe"},
		"age":{"type":"integer","default":30},
		"score":{"type":"number","default":95.5},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
		"verified":{"type":"boolean","default":true}}}`)
}

func enums(ctx context.Context, req *sdk.Request[none]) (string, error) {
	return ask(ctx, req, "Which?", `{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},
			{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},
			{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`)
}

func greeting(ctx context.Context, req *sdk.Request[none]) (string, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(`{"type":"object","title":"user_name","properties":{"name":{"type":"string"}},
		"required":["name"]}`), &schema); err != nil {
		return "", err
	}
	answer, err := req.Ask(ctx, "What is your name?", &schema)
	if err != nil {
		return "", err
	}
	var values struct{ Name string }
	if answer.Action == "accept" {
		err = json.Unmarshal(answer.Values, &values)
	}
	return "Hello, " + values.Name + "!", err
}

func confirm(ctx context.Context, req *sdk.Request[none]) (string, error) {
	text, err := ask(ctx, req, "Please confirm", `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)
	return "state-ok: " + text, err
}

func twoQuestions(ctx context.Context, req *sdk.Request[none]) (string, error) {
	name, err := ask(ctx, req, "Step 1: What is your name?",
		`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	if err != nil {
		return "", err
	}
	color, err := ask(ctx, req, "Step 2: What is your favorite color?",
		`{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`)
	return name + "; " + color, err
}

// ask puts a form to the person and says what came of it.
func ask[In any](ctx context.Context, req *sdk.Request[In], message, form string) (string, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(form), &schema); err != nil {
		return "", err
	}
	answer, err := req.Ask(ctx, message, &schema)
	return fmt.Sprintf("Elicitation completed: action=%s, content=%s", answer.Action, answer.Values), err
}
