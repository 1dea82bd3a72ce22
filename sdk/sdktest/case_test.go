package sdktest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// recorder is a test that writes down what it is told, in order to test what fails tests.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.said = append(r.said, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

// record runs f until it is done or has given up.
func record(f func(t testing.TB)) (said []string) {
	r := &recorder{}
	defer func() {
		if v := recover(); v != nil && v != any(r) {
			panic(v)
		}
		said = r.said
	}()
	f(r)
	return r.said
}

func TestCaseFailsOnUnexpectedResult(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := Result{Text: "two lines", Structured: []byte(`{"lines": 2}`)}
	bad := Result{Err: &pluginpb.Error{Code: sdk.NotFound, Message: "no such file"}}
	tests := []struct {
		name   string
		c      Case
		result Result
		want   string // part of the only complaint; empty for none
	}{
		{"nothing is asked", Case{}, good, ""},
		{"everything is right", Case{Want: "two lines", WantContains: []string{"two"}, WantJSON: `{"lines":2}`,
			WantFiles: map[string]string{"file": "new"}}, good, ""},
		{"the text", Case{Want: "three lines"}, good, "the text differs"},
		{"a part of the text", Case{WantContains: []string{"three"}}, good, `"three" is missing`},
		{"a part of the message", Case{WantErr: sdk.NotFound, WantContains: []string{"such"}}, bad, ""},
		{"the structured result", Case{WantJSON: map[string]int{"lines": 3}}, good, "the structured result differs"},
		{"no structured result", Case{WantJSON: `{}`}, Result{Text: "x"}, "the structured result"},
		{"a file", Case{WantFiles: map[string]string{"file": "old"}}, good, "file differs"},
		{"a missing file", Case{WantFiles: map[string]string{"none": ""}}, good, "no such file"},
		{"a failure", Case{Tool: "count"}, bad, "count failed: no such file [not_found]"},
		{"the failure", Case{WantErr: sdk.NotFound}, bad, ""},
		{"another failure", Case{WantErr: sdk.AccessDenied}, bad, "with the code not_found, not access_denied"},
		{"a success", Case{Tool: "count", WantErr: sdk.NotFound}, good, "it should have failed"},
		{"what is checked besides", Case{Check: func(t testing.TB, at string,
			r Result) {
			t.Errorf("%t %s", at == dir, r.Text)
		}}, good, "true two lines"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			said := record(func(r testing.TB) { tt.c.checkResult(r, dir, tt.result) })
			switch {
			case tt.want == "" && len(said) > 0:
				t.Errorf("it complains: %q", said)
			case tt.want != "" && (len(said) != 1 || !strings.Contains(said[0], tt.want)):
				t.Errorf("it complains %q, want %q", said, tt.want)
			}
		})
	}
}

type echoInput struct {
	Say string `json:"say" jsonschema:"what to say"`
}

func echo() sdk.Plugin {
	return sdk.Plugin{
		ID: "echo", Version: "1.0.0", Doc: "Says it again.",
		Tools: []sdk.Tool{sdk.NewTool("echo", "Says it again.",
			func(_ context.Context, req *sdk.Request[echoInput]) (string, error) { return req.Args.Say, nil },
			sdk.Traits{ReadOnly: true})},
	}
}

func TestSpecWantsEveryToolShown(t *testing.T) {
	tests := []struct {
		name   string
		plugin sdk.Plugin
		cases  []Case
		want   string
	}{
		{"no cases", echo(), nil, ""},
		{"one for each", echo(), []Case{{Tool: "echo", Args: `{"say":"x"}`}}, ""},
		{"failures show nothing", echo(), []Case{{Tool: "echo", WantErr: sdk.InvalidArgument}},
			"tool echo: no case shows how it is called"},
		{"arguments that do not fit", echo(), []Case{{Name: "one", Tool: "echo", Args: `{"sya":"x"}`}},
			`case one: unknown argument "sya"`},
		{"an unknown tool", echo(), []Case{{Tool: "echo", Args: `{"say":"x"}`}, {Tool: "ohce"}},
			`the plugin has no tool "ohce"`},
		{"a finding", sdk.Plugin{ID: "echo", Version: "1", Doc: "Says.", Tools: echo().Tools}, nil, "not a semantic one"},
		{"a plugin that can't be used", sdk.Plugin{ID: "Echo"}, nil, `the plugin can't be used: plugin id "Echo"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			said := record(func(r testing.TB) { CheckManifest(r, tt.plugin, tt.cases...) })
			switch {
			case tt.want == "" && len(said) > 0:
				t.Errorf("it complains: %q", said)
			case tt.want != "" && (len(said) != 1 || !strings.Contains(said[0], tt.want)):
				t.Errorf("it complains %q, want %q", said, tt.want)
			}
		})
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	t.Setenv("PICOCLAW", filepath.Join(t.TempDir(), "picoclaw"))
	if _, err := findPicoclaw(); err == nil || !strings.Contains(err.Error(), "set PICOCLAW to its path") {
		t.Errorf("the error is %v", err)
	}
}

func TestMissingManifestNamesRemedy(t *testing.T) {
	said := record(func(r testing.TB) { Binary{Dir: t.TempDir()}.CheckManifest(r) })
	if len(said) != 1 || !strings.Contains(said[0], "build the plugin first") {
		t.Errorf("it complains %q", said)
	}
}

func TestCallerSettingsAreRemoved(t *testing.T) {
	got := withoutPicoclawVariables([]string{"PATH=/bin", "PICOCLAW_HOME=/x", "PICOCLAW_TOOLS_SET=all", "PICOCLAW=/p"})
	if len(got) != 1 || got[0] != "PATH=/bin" {
		t.Errorf("what is left is %q", got)
	}
}
