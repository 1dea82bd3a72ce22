// Command conformance is a plugin with the tools that the protocol's conformance suite calls, as far as a plugin can offer them.
package main

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"

	"github.com/picoclaw/picoclaw/sdk"
)

type none struct{}

// media is a result to look at or listen to.
type media struct {
	Type string `json:"type"`
	data []byte
}

func (m media) Text() string            { return "" }
func (m media) Media() (string, []byte) { return m.Type, m.data }

func main() {
	sdk.Main(sdk.Plugin{
		ID: "conformance", Version: "1.0.0", Doc: "What the conformance suite calls.",
		Tools: []sdk.Tool{
			sdk.NewTool("test_simple_text", "Returns a text.", simpleText, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_image_content", "Returns a picture.", imageContent, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_audio_content", "Returns a sound.", audioContent, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_error_handling", "Fails.", errorHandling, sdk.Traits{ReadOnly: true}),
			sdk.NewTool("test_tool_with_progress", "Tells how far it is.", toolWithProgress, sdk.Traits{ReadOnly: true}),
		},
	})
}

func simpleText(context.Context, *sdk.Request[none]) (string, error) {
	return "This is a simple text response for testing.", nil
}

func imageContent(context.Context, *sdk.Request[none]) (media, error) {
	pixel := image.NewRGBA(image.Rect(0, 0, 1, 1))
	pixel.Set(0, 0, color.RGBA{R: 255, A: 255})
	var data bytes.Buffer
	err := png.Encode(&data, pixel)
	return media{"image/png", data.Bytes()}, err
}

// audioContent returns a sound of no samples.
func audioContent(context.Context, *sdk.Request[none]) (media, error) {
	return media{"audio/wav", []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00" +
		"\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00")}, nil
}

func errorHandling(context.Context, *sdk.Request[none]) (string, error) {
	return "", sdk.Errorf("failed", "This tool intentionally returns an error for testing")
}

func toolWithProgress(_ context.Context, req *sdk.Request[none]) (string, error) {
	for _, done := range []float64{0, 50, 100} {
		req.Progress(done, 100, "")
	}
	return "all of it is done", nil
}
