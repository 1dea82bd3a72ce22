package sdk_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

// pictures is a result that has something to look at besides.
type pictures struct {
	Shown []sdk.Content `json:"-"`
	Count int           `json:"count"`
}

func (p pictures) Text() string            { return "pictures" }
func (p pictures) Contents() []sdk.Content { return p.Shown }

func TestContents(t *testing.T) {
	one := sdk.Content{Data: []byte{1}, MediaType: "image/png"}
	resource := sdk.Content{Text: "{}", MediaType: "application/json", URI: "test://r"}
	text := sdk.Content{Text: "pictures"}
	both := []sdk.Content{{Text: "first"}, one, resource}
	returns := func(name string, shown ...sdk.Content) sdk.Tool {
		return sdk.NewTool(name, "Shows.", func(context.Context, *sdk.Request[struct{}]) (pictures, error) {
			return pictures{shown, len(shown)}, nil
		}, sdk.Traits{})
	}
	plugin := sdk.Plugin{ID: "shows", Version: "1.0.0", Doc: "Shows things.", Tools: []sdk.Tool{
		returns("none"), returns("one", one), returns("resource", resource), returns("several", both...),
		sdk.NewTool("alone", "Shows.", func(context.Context, *sdk.Request[struct{}]) ([]sdk.Content, error) {
			return both,
				nil
		}, sdk.Traits{}),
	}}
	p := sdktest.Start(t, plugin, sdktest.Options{})
	texts := map[string]string{
		"none": "pictures", "one": "pictures", "resource": "pictures\n{}", "several": "pictures\nfirst\n{}",
		"alone": "first\n{}",
	}
	for tool, want := range map[string][]sdk.Content{
		"none": nil, "one": {text, one}, "resource": {text, resource}, "several": append([]sdk.Content{text}, both...),
		"alone": both,
	} {
		r := p.Call(tool, `{}`)
		if diff := cmp.Diff(want, r.Content); r.Err != nil || diff != "" || r.Text != texts[tool] {
			t.Errorf("%s: %q, %v\n%s", tool, r.Text, r.Err, diff)
		}
	}
}

type undoableChange struct {
	ID string `json:"id"`
}

func (c undoableChange) UndoID() string { return c.ID }

func TestUndoID(t *testing.T) {
	change := sdk.NewTool("change", "Changes.", func(context.Context, *sdk.Request[struct{}]) (undoableChange, error) {
		return undoableChange{"1"}, sdk.Errorf(sdk.Failed, "half of it")
	}, sdk.Traits{})
	schema, err := pluginpb.NewSchema(&jsonschema.Schema{Type: "object"})
	if err != nil {
		t.Fatal(err)
	}
	spec := sdk.NewSpecTool(pluginpb.ToolSpec{Name: "spec", Doc: "Changes.", Input: schema},
		func(context.Context, *sdk.Request[json.RawMessage]) (sdk.Result, error) {
			return sdk.Result{Structured: json.RawMessage(`{"undo":"2"}`), Undo: "1"}, nil
		})
	p := sdktest.Start(t, sdk.Plugin{ID: "p", Version: "1.0.0", Doc: "Tests.", Tools: []sdk.Tool{change, spec}},
		sdktest.Options{})
	for _, tool := range []string{"change", "spec"} {
		if r := p.Call(tool, `{}`); r.Undo != "1" {
			t.Errorf("%s: the undo id is %q", tool, r.Undo)
		}
	}
}

func TestAsk(t *testing.T) {
	type form struct {
		Name string `json:"name"`
	}
	schema, err := jsonschema.For[form](nil)
	if err != nil {
		t.Fatal(err)
	}
	plugin := sdk.Plugin{ID: "asks", Version: "1.0.0", Doc: "Asks.", Tools: []sdk.Tool{
		sdk.NewTool("ask", "Asks.", func(ctx context.Context, req *sdk.Request[struct{}]) (string, error) {
			answer, err := req.Ask(ctx, "Who?", schema)
			return answer.Action + string(answer.Values), err
		}, sdk.Traits{}),
	}}
	sdktest.Run(t, plugin, sdktest.Case{Tool: "ask", WantErr: sdk.NobodyToAsk,
		WantContains: []string{"no person can be asked"}})
	p := sdktest.Start(t, plugin, sdktest.Options{Answer: func(message string, form json.RawMessage) sdk.Answer {
		var asked jsonschema.Schema
		if err := json.Unmarshal(form, &asked); err != nil || message != "Who?" || asked.Properties["name"].Type != "string" {
			t.Errorf("it asks %q with %s", message, form)
		}
		return sdk.Answer{Action: "accept", Values: json.RawMessage(`{"name":"Ada"}`)}
	}})
	for range 2 {
		if r := p.Call("ask", `{}`); r.Err != nil || r.Text != `accept{"name":"Ada"}` {
			t.Errorf("%q, %v", r.Text, r.Err)
		}
	}
}

type page struct {
	Content string `json:"content"`
}

// What an agent reads of a typed result is the JSON text itself: a page of HTML in it has to look like one.
func TestTypedResultIsUnescapedJSON(t *testing.T) {
	plugin := sdk.Plugin{ID: "pages", Version: "1.0.0", Doc: "Has pages.", Tools: []sdk.Tool{
		sdk.NewTool("page", "A page.", func(context.Context, *sdk.Request[struct{}]) (page, error) {
			return page{"<b>bold & \"quoted\"</b>"}, nil
		}, sdk.Traits{}),
	}}
	sdktest.Run(t, plugin, sdktest.Case{
		Tool:     "page",
		Want:     `{"content":"<b>bold & \"quoted\"</b>"}`,
		WantJSON: page{"<b>bold & \"quoted\"</b>"},
	})
}
