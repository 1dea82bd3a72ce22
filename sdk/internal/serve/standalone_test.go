package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/internal/serve"
	"github.com/picoclaw/picoclaw/sdk/internal/served"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

type sampleSettings struct {
	Greeting string `json:"greeting" jsonschema:"what to begin with"`
	Times    int    `json:"times" minimum:"1" maximum:"9"`
}

type sampleInput struct {
	Path string `json:"path" jsonschema:"the file to greet" claim:"read"`
	Tone string `json:"tone,omitempty" enum:"warm,cold" default:"warm"`
}

// sample greets what a file says.
func sample() sdk.Plugin {
	return sdk.Plugin{
		ID: "sample", Version: "1.0.0", Doc: "Greets.",
		Grants: sdk.Grants{Workspace: sdk.ReadOnlyWorkspace, State: true, Takeback: true},
		Config: sampleSettings{Greeting: "hello", Times: 1},
		Tools: []sdk.Tool{
			sdk.NewTool("greet_file", "Greets what is in a file.", func(_ context.Context,
				req *sdk.Request[sampleInput]) (string, error) {
				req.ReportProgress(1, 2, "reading")
				req.SendStderr([]byte("a line of output\n"))
				for _, dir := range []string{req.StateDir, req.Takeback.Dir} {
					if _, err := os.Stat(dir); err != nil {
						return "", err
					}
				}
				data, err := req.Workspace.ReadFile(req.Args.Path)
				if err != nil {
					return "", err
				}
				c := sdk.ConfigOf[sampleSettings](req)
				return strings.Repeat(c.Greeting+" ", c.Times) + string(data), nil
			}, sdk.Traits{}),
			sdk.NewTool("fall", "Panics.", func(context.Context, *sdk.Request[struct{}]) (string, error) { panic("the floor") },
				sdk.Traits{}),
		},
	}
}

func TestStandalonePlugin(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("name", []byte("Ada"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		args   []string
		stdin  string
		code   int
		stdout string
		stderr []string
	}{
		{name: "a call", args: []string{"call", "greet_file", `{"path":"name"}`}, stdout: "hello Ada\n",
			stderr: []string{"1 of 2 reading", "a line of output"}},
		{name: "with the full name", args: []string{"call", "sample.greet_file", `{"path":"name"}`}, stdout: "hello Ada\n"},
		{name: "from standard input", args: []string{"call", "greet_file", "-"}, stdin: `{"path":"name"}`,
			stdout: "hello Ada\n"},
		{name: "configured", args: []string{"call", "--config", `{"greeting":"hi","times":2}`, "greet_file",
			`{"path":"name"}`}, stdout: "hi hi Ada\n"},
		{name: "configured, behind", args: []string{"call", "greet_file", `{"path":"name"}`, "--config={\"times\":2}"},
			stdout: "hello hello Ada\n"},
		{name: "an unknown setting", args: []string{"call", "greet_file", `{"path":"name"}`, "--config", `{"greting":"hi"}`},
			code:   1,
			stderr: []string{`plugins.sample.config does not fit: unknown key "greting"; did you mean "greeting"?`}},
		{name: "a setting out of bounds", args: []string{"call", "greet_file", `{"path":"name"}`, "--config", `{"times":10}`},
			code: 1, stderr: []string{"plugins.sample.config does not fit", "10"}},
		{name: "no such file", args: []string{"call", "greet_file", `{"path":"nome"}`}, code: 1,
			stderr: []string{"greet_file: ", "nome", "[not_found]"}},
		{name: "outside", args: []string{"call", "greet_file", `{"path":"/etc/passwd"}`}, code: 1,
			stderr: []string{"[access_denied]", "rule: workspace.outside"}},
		{name: "a panic", args: []string{"call", "fall"}, code: 1,
			stderr: []string{"fall: fall panicked: the floor [panic]", "hint: "}},
		{name: "the nearest tool", args: []string{"call", "greet_fil"}, code: 2,
			stderr: []string{`no tool "greet_fil"; did you mean "greet_file"?`}},
		{name: "nothing near", args: []string{"call", "compile"}, code: 2,
			stderr: []string{`no tool "compile"; the tools are greet_file, fall`}},
		{name: "no tool", args: []string{"call"}, code: 2, stderr: []string{"name the tool to call: greet_file, fall"}},
		{name: "an unknown argument", args: []string{"call", "greet_file", `{"pth":"name"}`}, code: 2,
			stderr: []string{`unknown argument "pth"; did you mean "path"?`, "call greet_file --help"}},
		{name: "no JSON", args: []string{"call", "greet_file", `path=name`}, code: 2, stderr: []string{"not valid JSON"}},
		{name: "too much", args: []string{"call", "greet_file", `{"path":`, `"name"}`}, code: 2,
			stderr: []string{"quote the JSON"}},
		{name: "an unknown option", args: []string{"call", "greet_file", "--confg", "{}"}, code: 2,
			stderr: []string{"confg"}},
		{name: "a tool's help", args: []string{"call", "greet_file", "--help"},
			stdout: "greet_file: Greets what is in a file.\n\nIt takes a JSON object:\n" +
				"  path               string, required; the file to greet\n  tone               string; one of warm, cold; default \"warm\"\n"},
		{name: "the help of one without arguments", args: []string{"call", "fall", "-h"},
			stdout: "fall: Panics.\nIt takes no arguments.\n"},
		{name: "an unknown command", args: []string{"descrbe"}, code: 2,
			stderr: []string{`unknown command "descrbe"; did you mean "describe"?`}},
		{name: "describe and more", args: []string{"describe", "all"}, code: 2,
			stderr: []string{`describe takes no argument "all"`}},
		{name: "nothing", code: 2, stderr: []string{"Its tools:", "use describe, or call TOOL"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := serve.RunMain(served.ToServePlugin(sample()), tt.args, strings.NewReader(tt.stdin), &stdout, &stderr)
			if code != tt.code || stdout.String() != tt.stdout {
				t.Errorf("exit code %d, want %d; it printed %q, want %q\n%s", code, tt.code, stdout.String(), tt.stdout,
					stderr.String())
			}
			for _, want := range tt.stderr {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("the error lacks %q:\n%s", want, stderr.String())
				}
			}
		})
	}
}

func TestDescribePrintsManifest(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := serve.RunMain(served.ToServePlugin(sample()), []string{"describe"}, nil, &stdout, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}
	m, err := pluginpb.ParseManifest(stdout.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	asked := pluginpb.Grant{Workspace: sdk.ReadOnlyWorkspace, State: true, Takeback: true}
	if !reflect.DeepEqual(m.Grants, asked) {
		t.Errorf("it asks for %+v, and the manifest for %+v", asked, m.Grants)
	}
	config, err := json.Marshal(m.Config)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{` +
		`"greeting":{"type":"string","description":"what to begin with","default":"hello"},` +
		`"times":{"type":"integer","default":1,"minimum":1,"maximum":9}},"additionalProperties":false}`
	if !sameJSON(t, config, []byte(want)) {
		t.Errorf("the schema of the configuration is\n%s\nwant\n%s", config, want)
	}
}

func TestUnusablePluginNamesReason(t *testing.T) {
	wrong := sample()
	wrong.ID = "Sample"
	for _, args := range [][]string{{"describe"}, {"call", "fall"}} {
		var stdout, stderr bytes.Buffer
		if code := serve.RunMain(served.ToServePlugin(wrong), args, nil, &stdout, &stderr); code != 1 ||
			!strings.Contains(stderr.String(), `this plugin can't be used: plugin id "Sample"`) {
			t.Errorf("%s: exit code %d: %s%s", args, code, stdout.String(), stderr.String())
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var values [2]any
	for i, text := range [][]byte{a, b} {
		if err := json.Unmarshal(text, &values[i]); err != nil {
			t.Fatal(err)
		}
	}
	x, _ := json.Marshal(values[0])
	y, _ := json.Marshal(values[1])
	return bytes.Equal(x, y)
}

func TestHelpListsTools(t *testing.T) {
	for _, word := range []string{"--help", "-h", "help"} {
		var stdout, stderr bytes.Buffer
		if code := serve.RunMain(served.ToServePlugin(sample()), []string{word}, nil, &stdout, &stderr); code != 0 ||
			!strings.Contains(stdout.String(), "greet_file") || stderr.Len() > 0 {
			t.Errorf("%s: exit code %d: %s%s", word, code, stdout.String(), stderr.String())
		}
	}
}

func TestConfigOfPanicsForOtherType(t *testing.T) {
	p := sample()
	p.Tools = []sdk.Tool{sdk.NewTool("take", "Takes another.", func(_ context.Context, req *sdk.Request[struct{}]) (string,
		error) {
		return sdk.ConfigOf[sampleInput](req).Path, nil
	}, sdk.Traits{})}
	sdktest.Run(t, p, sdktest.Case{Tool: "take", WantErr: pluginpb.CodePanic,
		WantContains: []string{"ConfigOf is asked for a serve_test.sampleInput", "Config is a serve_test.sampleSettings"}})
}
