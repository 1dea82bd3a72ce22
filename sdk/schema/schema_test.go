package schema

import (
	"encoding/json"
	"reflect"
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

func TestSchemaContainsStructTags(t *testing.T) {
	s, err := InferInput(reflect.TypeFor[everything]())
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
	sites, err := pluginpb.FindClaims(input)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, site := range sites {
		found = append(found, strings.Join(site.Path, ".")+"="+string(site.Claim))
	}
	if got, want := strings.Join(found, " "),
		"deep.*.to=delete dir=cwd env=env line=command path=read paths.*=write"; got != want {
		t.Errorf("the claims are %s\nwant %s", got, want)
	}
}
