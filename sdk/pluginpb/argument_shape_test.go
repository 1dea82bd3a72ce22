package pluginpb

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// What has the shape needs no validator, so it must be what the validator takes, whatever the schema.
func FuzzShape(f *testing.F) {
	for _, schema := range []string{
		testSchema,
		`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":"array","items":{"type":"object","properties":{"c":{"type":"integer"}},"additionalProperties":false,"required":["c"]}}},"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"string","minLength":2},"b":{"enum":["x",1,null]},"c":true,"d":false},"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}},"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"patternProperties":{"^x":{"type":"string"}},"additionalProperties":{"type":"integer"}}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"],"additionalProperties":{"not":{"type":"string"}}}`,
	} {
		for _, value := range []string{`{"path":"a","n":1,"kind":"dir","deep":{"x":[]}}`, `{"a":"x","b":[{"c":1}]}`,
			`{"a":null,"b":[{}]}`, `{"b":1}`, `{"x":1,"c":1.5}`, `{}`} {
			f.Add(schema, value)
		}
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		var s jsonschema.Schema
		if json.Unmarshal([]byte(schema), &s) != nil {
			return
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			return
		}
		values, err := decodeObject([]byte(value))
		if err != nil {
			return
		}
		if shapeOf(&s, 0).has(values) {
			if err := resolved.Validate(values); err != nil {
				t.Fatalf("%s has the shape of %s and is refused: %v", value, schema, err)
			}
		}
	})
}

// The schemas that tools have in fact are shapes: otherwise nothing is won.
func TestWhatToolsAskForIsAShape(t *testing.T) {
	shape := shapeOf(testReader(t).schema, 0)
	for value, want := range map[string]bool{
		`{"path":"a"}`: true,
		`{"path":"a","n":0,"ratio":1e6,"kind":"file","on":true}`: true,
		`{"path":"a","kind":"fifo"}`:                             false,
		`{"path":"a","n":-1}`:                                    false,
		`{"path":"a","ratio":1000001}`:                           false,
		`{"path":1}`:                                             false,
		`{"path":"a","PATH":"a"}`:                                false,
		`{"n":1}`:                                                false,
	} {
		values, err := decodeObject([]byte(value))
		if err != nil {
			t.Fatal(err)
		}
		if got := shape.has(values); got != want {
			t.Errorf("%s has the shape: %v; want %v", value, got, want)
		}
	}
}

func BenchmarkArguments(b *testing.B) {
	r := testReader(b)
	for name, raw := range map[string]string{
		"path": `{"path":"some/file.txt"}`,
		"four": `{"path":"some/file.txt","n":1,"kind":"file","on":true}`,
		"1MB":  `{"path":"` + strings.Repeat("some text\\n", 100000) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Read([]byte(raw)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
