package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// toolTester calls a plugin's tools in a session and records findings.
type toolTester struct {
	*pluginTrial
	session *session.Session
	samples map[string]json.RawMessage // arguments of answered calls, by tool
}

func (c *toolTester) callTool(ctx context.Context, tool string, args json.RawMessage) *session.Result {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.session.Call(ctx, c.pkg.Manifest.ID+"."+tool, args, nil)
}

// startPlugin starts the program by calling its first tool, and reports whether it started.
func (c *toolTester) startPlugin(ctx context.Context) bool {
	c.samples = map[string]json.RawMessage{}
	first := &c.pkg.Manifest.Tools[0]
	args, err := sampleArguments(first)
	if err != nil {
		c.addFinding("start", Bad, "tool %s: %v", first.Name, err)
		return false
	}
	if r := c.callTool(ctx, first.Name, args); isUnanswered(r) && r.Err.Code != pluginpb.CodePanic { // one that panics has started
		c.addFinding("start", Bad, "%s", r.Err.Message)
		return false
	}
	c.addFinding("start", Good, "the plugin starts, and its description equals plugin.json")
	return true
}

// isUnanswered reports whether a call got no answer from the plugin: a crash, a panic or a timeout.
func isUnanswered(r *session.Result) bool {
	return r.Err != nil && (r.Err.Code == pluginpb.CodeUnavailable || r.Err.Code == pluginpb.CodeTimeout ||
		r.Err.Code == pluginpb.CodePanic)
}

// testEveryTool calls each tool with arguments that fit its schema, and checks the result.
func (c *toolTester) testEveryTool(ctx context.Context) {
	for i := range c.pkg.Manifest.Tools {
		t := &c.pkg.Manifest.Tools[i]
		check := "tool " + t.Name
		args, err := sampleArguments(t)
		if err != nil {
			c.addFinding(check, Bad, "%v", err)
			continue
		}
		r := c.callTool(ctx, t.Name, args)
		if problem := c.checkResult(t, r); problem != nil {
			c.addFinding(check, Bad, "called with %s: %v", args, problem)
			continue
		}
		c.samples[t.Name] = args
		what := "answered"
		if r.Err != nil {
			what = "answered with an error (" + r.Err.Code + "): " + r.Err.Message
		}
		c.addFinding(check, Good, "%s", what)
	}
}

// checkResult returns an error if a result breaks the plugin contract.
func (c *toolTester) checkResult(t *pluginpb.ToolSpec, r *session.Result) error {
	switch {
	case isUnanswered(r):
		return errors.New(r.Err.Message)
	case r.Err != nil && strings.TrimSpace(r.Err.Message) == "":
		return errors.New("its error has no message; name the reason and the remedy")
	case !utf8.ValidString(r.Text):
		return errors.New("its text is not UTF-8")
	case r.Err != nil || len(r.Structured) == 0:
		return nil
	case t.Output == nil:
		return errors.New("it answers with a structured result, and its manifest has no schema for that")
	}
	schema, err := t.Output.Parse()
	if err != nil {
		return err
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return fmt.Errorf("its output schema is not usable: %w", err)
	}
	var value any
	if err := json.Unmarshal(r.Structured, &value); err != nil {
		return fmt.Errorf("its structured result is not JSON: %w", err)
	}
	if err := resolved.Validate(value); err != nil {
		return fmt.Errorf("its structured result does not fit its schema: %w", err)
	}
	return nil
}

// testCancellation cancels a call of each tool, and checks that the plugin answers the next call.
func (c *toolTester) testCancellation(ctx context.Context) {
	for _, name := range c.answeringTools() {
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		c.session.Call(short, c.pkg.Manifest.ID+"."+name, c.samples[name], nil)
		cancel()
		if r := c.callTool(ctx, name, c.samples[name]); isUnanswered(r) {
			c.addFinding("cancelling", Bad, "after a cancelled call of %s it does not answer any more: %s", name, r.Err.Message)
			return
		}
	}
	c.addFinding("cancelling", Good, "it continues after cancelled calls")
}

// testConcurrentCalls makes concurrent calls of each tool, and checks that all are answered.
func (c *toolTester) testConcurrentCalls(ctx context.Context) {
	var mu sync.Mutex
	var problems []string
	var calls sync.WaitGroup
	for _, name := range c.answeringTools() {
		for range 8 {
			calls.Go(func() {
				if r := c.callTool(ctx, name, c.samples[name]); isUnanswered(r) {
					mu.Lock()
					defer mu.Unlock()
					problems = append(problems, r.Err.Message)
				}
			})
		}
	}
	calls.Wait()
	if len(problems) > 0 {
		c.addFinding("calls at once", Bad, "%d did not return, such as: %s", len(problems), problems[0])
		return
	}
	c.addFinding("calls at once", Good, "8 of each tool, all answered")
}

// answeringTools returns the sorted names of the tools that answered an earlier call.
func (c *toolTester) answeringTools() []string {
	return slices.Sorted(maps.Keys(c.samples))
}

// sampleArguments returns minimal arguments that fit a tool's schema.
func sampleArguments(t *pluginpb.ToolSpec) (json.RawMessage, error) {
	reader, _, err := t.CompileInputSchema()
	if err != nil {
		return nil, err
	}
	input, err := t.Input.Parse()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(sampleValue(input))
	if err != nil {
		return nil, err
	}
	if _, err := reader.Read(text); err != nil {
		return nil, fmt.Errorf("arguments made from its schema, %s, are refused by it: %w", text, err)
	}
	return text, nil
}

// sampleValue returns a value that fits a schema.
func sampleValue(s *jsonschema.Schema) any {
	switch {
	case s == nil:
		return "text"
	case len(s.Default) > 0:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Const != nil:
		return *s.Const
	}
	kind := s.Type
	for _, k := range s.Types {
		if kind == "" && k != "null" {
			kind = k
		}
	}
	switch kind {
	case "object":
		out := map[string]any{}
		for _, name := range s.Required {
			out[name] = sampleValue(s.Properties[name])
		}
		return out
	case "array":
		return []any{sampleValue(s.Items)}
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 1
	case "boolean":
		return false
	case "null":
		return nil
	}
	return sampleText(s)
}

// sampleText returns a string that suits the claim of the schema, such as the path of an existing file.
func sampleText(s *jsonschema.Schema) string {
	switch claim, _ := s.Extra[pluginpb.ClaimKey].(string); pluginpb.ArgumentClaim(claim) {
	case pluginpb.ClaimList, pluginpb.ClaimCwd:
		return "dir"
	case pluginpb.ClaimRead, pluginpb.ClaimWrite:
		return "file.txt"
	case pluginpb.ClaimDelete:
		return "nothing-there"
	case pluginpb.ClaimCommand:
		return "true"
	}
	return "text"
}
