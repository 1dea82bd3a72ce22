package pluginpb

import (
	"fmt"
	"strings"
	"testing"
)

func TestSchemasAreBounded(t *testing.T) {
	alternatives := `{"type":"object","$defs":{`
	for i := range 25 {
		alternatives += fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%[2]d"}]},`, i, i+1)
	}
	alternatives += `"d25":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/d0"}}}`
	for _, c := range []struct{ name, schema, want string }{
		{"a plain one", `{"type":"object","properties":{"a":{"type":"string","enum":["$ref"],"default":{"$ref":"#"}}}}`, ""},
		{"one with definitions", `{"$defs":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/$defs/a"}}}`, ""},
		{"a property called $ref", `{"properties":{"$ref":{"type":"string"}}}`, ""},
		{"itself", `{"allOf":[{"$ref":"#"}]}`, "refers to itself"},
		{"a circle", `{"$defs":{"b":{"anyOf":[{"$ref":"#/$defs/c"}]},"c":{"$ref":"#/$defs/b"}},"properties":{"a":{"$ref":"#/$defs/b"}}}`,
			"refers to itself"},
		{"a tree", `{"properties":{"children":{"items":{"$ref":"#"}}}}`, "refers to itself"},
		{"many alternatives", alternatives, "more than"},
		{"nothing", `{"$ref":"#/$defs/none"}`, "does not exist"},
		{"elsewhere", `{"$ref":"https://example.com/s.json"}`, "are supported"},
		{"an anchor", `{"$dynamicRef":"#node"}`, "are supported"},
	} {
		s := new(Schema)
		if err := s.UnmarshalJSON([]byte(c.schema)); err != nil {
			t.Fatal(err)
		}
		err := s.CheckValidationCost()
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// Whatever a stranger writes as a schema, the look at it ends.
func FuzzSchemaBounds(f *testing.F) {
	for _, seed := range []string{`{}`, `true`, `{"$ref":"#"}`, `{"a":{"$ref":"#/a/b"},"b":[{"$ref":"#/b/0"}]}`, `[[{"$ref":"#/0"}]]`} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		s := new(Schema)
		if s.UnmarshalJSON([]byte(text)) == nil {
			_ = s.CheckValidationCost()
		}
	})
}
