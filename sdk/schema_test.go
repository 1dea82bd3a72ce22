package sdk

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

type everything struct {
	Path   string            `json:"path" jsonschema:"a file" claim:"read"`
	Paths  []string          `json:"paths,omitempty" claim:"write"`
	Mode   string            `json:"mode,omitempty" enum:"fast,slow" default:"fast"`
	Count  int               `json:"count,omitempty" default:"10" minimum:"1" maximum:"100"`
	Deep   []inner           `json:"deep,omitempty"`
	Line   string            `json:"line,omitempty" claim:"command"`
	Dir    string            `json:"dir,omitempty" claim:"cwd"`
	Env    map[string]string `json:"env,omitempty" claim:"env"`
	hidden string            //nolint:unused // it must not show
}

type inner struct {
	To string `json:"to" claim:"delete"`
}

func TestTheSchemaSaysWhatTheTagsSay(t *testing.T) {
	s, err := inputSchema[everything]()
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"path":{"type":"string","description":"a file","x-picoclaw-claim":"read"}`,
		`"paths":{"type":"array","items":{"type":"string","x-picoclaw-claim":"write"}}`,
		`"default":"fast"`, `"enum":["fast","slow"]`, `"minimum":1`, `"maximum":100`, `"default":10`,
		`"required":["path"]`, `"additionalProperties":false`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the schema lacks %s:\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "hidden") {
		t.Error("an unexported field is in the schema")
	}
	input, err := s.Parse()
	if err != nil {
		t.Fatal(err)
	}
	sites, err := pluginpb.Claims(input)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, site := range sites {
		found = append(found, strings.Join(site.Path, ".")+"="+string(site.Claim))
	}
	if got, want := strings.Join(found, " "), "deep.*.to=delete dir=cwd env=env line=command path=read paths.*=write"; got != want {
		t.Errorf("the claims are %s\nwant %s", got, want)
	}
}

func TestWhatIsWrongWithAToolIsSaid(t *testing.T) {
	type badClaim struct {
		P string `json:"p" claim:"execute"`
	}
	type claimedNumber struct {
		N int `json:"n" claim:"read"`
	}
	type badDefault struct {
		N int `json:"n" default:"many"`
	}
	for want, tool := range map[string]Tool{
		"not one of read":       NewTool("t", "d", nothing[badClaim]),
		"which is not a string": NewTool("t", "d", nothing[claimedNumber]),
		"does not fit":          NewTool("t", "d", nothing[badDefault]),
		"must be a struct":      NewTool("t", "d", nothing[string]),
		"has no doc":            NewTool("t", "", nothing[struct{}]),
		"tool name":             NewTool("T-1", "d", nothing[struct{}]),
	} {
		p := Plugin{ID: "p", Version: "1", Doc: "d", Tools: []Tool{tool}}
		if _, err := p.Manifest(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; want it to say %q", err, want)
		}
	}
}

func nothing[In any](context.Context, *Request[In]) (string, error) { return "", nil }
