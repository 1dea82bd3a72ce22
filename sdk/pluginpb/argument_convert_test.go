package pluginpb

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
)

func readerOf(t testing.TB, text string) *ArgumentParser {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	r, err := NewArgumentReader(&s)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

func TestArgumentConversion(t *testing.T) {
	const schema = `{"type":"object","required":["path","mode"],"additionalProperties":false,
		"$defs":{"size":{"type":"object","properties":{"w":{"type":"integer"},"h":{"type":"integer","default":7}},"required":["w","h"]}},
		"properties":{"path":{"type":"string"},"mode":{"$ref":"#/$defs/mode","default":"fast"},"n":{"type":"integer"},
		"ratio":{"type":"number"},"on":{"type":"boolean"},"either":{"type":["integer","string"]},"free":{},
		"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},"or":{"anyOf":[{"type":"integer"},{"type":"string"}]},
		"list":{"type":"array","items":{"type":"integer"}},"names":{"type":"array","items":{"type":"string"}},
		"size":{"anyOf":[{"$ref":"#/$defs/size"},{"type":"null"}]},"level":{"enum":[1,2]},"word":{"enum":["1","2"]},
		"counts":{"type":"object","additionalProperties":{"type":"integer"}},
		"all":{"allOf":[{"$ref":"#/$defs/size"}]}}}`
	r := readerOf(t, strings.Replace(schema, `"$defs":{`, `"$defs":{"mode":{"type":"string","enum":["fast","slow"]},`, 1))
	for in, want := range map[string]string{
		`"path":"a"`:             `"mode":"fast","path":"a"`,
		`"path":"a","mode":null`: `"mode":"fast","path":"a"`,
		`"path":"a","mode":"slow","n":null,"on":null`:      `"mode":"slow","path":"a"`,
		`"path":"a","maybe":null,"n":null`:                 `"maybe":null,"mode":"fast","path":"a"`,
		`"path":"a","n":"5","on":"true","ratio":"-1.5"`:    `"mode":"fast","n":5,"on":true,"path":"a","ratio":-1.5`,
		`"path":"a","on":"False"`:                          `"mode":"fast","on":false,"path":"a"`,
		`"path":"a","n":"9007199254740993"`:                `"mode":"fast","n":9007199254740993,"path":"a"`,
		`"path":"5","either":"5","or":"5","free":"5"`:      `"either":"5","free":"5","mode":"fast","or":"5","path":"5"`,
		`"path":"a","maybe":"5","level":"2","word":"2"`:    `"level":2,"maybe":5,"mode":"fast","path":"a","word":"2"`,
		`"path":"a","list":"[1, 2]"`:                       `"list":[1,2],"mode":"fast","path":"a"`,
		`"path":"a","list":["1",2]`:                        `"list":[1,2],"mode":"fast","path":"a"`,
		`"path":"a","names":"[\"1\"]"`:                     `"mode":"fast","names":["1"],"path":"a"`,
		`"path":"a","size":"{\"w\":\"3\"}"`:                `"mode":"fast","path":"a","size":{"h":7,"w":3}`,
		`"path":"a","all":{"w":"3","h":null}`:              `"all":{"h":7,"w":3},"mode":"fast","path":"a"`,
		`"path":"a","counts":{"a":"1"}`:                    `"counts":{"a":1},"mode":"fast","path":"a"`,
		`"path":null`:                                      `argument "path" must be a string, not null`,
		`"path":"a","n":"5 apples"`:                        `argument "n" must be a whole number, not a string`,
		`"path":"a","n":"1.5"`:                             `argument "n" must be a whole number, not a string`,
		`"path":"a","n":"0x10"`:                            `argument "n" must be a whole number, not a string`,
		`"path":"a","n":""`:                                `argument "n" must be a whole number, not a string`,
		`"path":"a","n":"null"`:                            `argument "n" must be a whole number, not a string`,
		`"path":"a","on":"1"`:                              `argument "on" must be a boolean, not a string`,
		`"path":"a","on":"yes"`:                            `argument "on" must be a boolean, not a string`,
		`"path":"a","list":"1,2"`:                          `argument "list" must be an array, not a string`,
		`"path":"a","list":"{}"`:                           `argument "list" must be an array, not a string`,
		`"path":"a","counts":"{\"a\":1,\"a\":2}"`:          `argument "counts" must be an object, not a string`,
		`"path":"a","counts":{"a":null}`:                   `argument "counts": a must be a whole number, not null`,
		`"path":"a","ratio":"1e999"`:                       `argument "ratio" must be a number, not a string`,
		`"path":"a","pth":null`:                            `unknown argument "pth"`,
		`"path":"a","n":"5","N":"6"`:                       `unknown argument "N"`,
		`"path":"a","level":"3"`:                           `argument "level" must be one of 1, 2, not 3`,
		`"path":"a","size":{"w":1,"h":2},"list":["\"1\""]`: `argument "list": [0] must be a whole number, not a string`,
	} {
		args, err := r.Read([]byte("{" + in + "}"))
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = strings.TrimSuffix(strings.TrimPrefix(string(args.Canonical), "{"), "}")
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
	for in, want := range map[string]string{ // arguments as a whole
		`null`: `{"mode":"fast","path":"a"}`, `"{\"path\":\"a\"}"`: `{"mode":"fast","path":"a"}`,
	} {
		args, err := readerOf(t, `{"type":"object","required":["path","mode"],"properties":{"path":{"type":"string","default":"a"},
			"mode":{"type":"string","default":"fast"}}}`).Read([]byte(in))
		if err != nil || string(args.Canonical) != want {
			t.Errorf("%s: %+v, %v", in, args, err)
		}
	}
}

func TestConversionNotes(t *testing.T) {
	r := readerOf(t, `{"type":"object","properties":{"n":{"type":"integer"},"l":{"type":"array","items":{"type":"object",
		"properties":{"on":{"type":"boolean"}}}},"many":{"type":"array","items":{"type":"integer"}}}}`)
	for in, want := range map[string][]string{
		`{"n":5}`:   nil,
		`{"n":"5"}`: {`argument "n": the string "5" was used as 5`},
		`{"l":"[{\"on\":\"true\"}]"}`: {`argument "l": JSON text was used as an array`,
			`argument "l": [0].on: the string "true" was used as true`},
	} {
		args, err := r.Read([]byte(in))
		if err != nil || !slices.Equal(args.Conversions, want) {
			t.Errorf("%s: %q, %v; want %q", in, args.Conversions, err, want)
		}
	}
	args, err := r.Read([]byte(`{"many":[` + strings.Repeat(`"1",`, 99) + `"1"]}`))
	if err != nil || len(args.Conversions) != maxConversionNotes+1 || args.Conversions[maxConversionNotes] != "92 more values were converted" {
		t.Errorf("%q, %v", args.Conversions, err)
	}
}

// schemaGenerator makes schemas, values that fit them, and the forms in which models send those.
type schemaGenerator struct {
	*rand.Rand
	fields int
}

// schema returns a schema and a value that fits it. sent is the value in another form that stands for it.
func (g *schemaGenerator) schema(depth int) (schema map[string]any, value, sent any) {
	kind := g.IntN(9)
	if depth == 0 {
		kind = g.IntN(6)
	}
	switch kind {
	case 0:
		value = []string{"", "a", "5", "true", "null", "[1]", "{}", `"x"`}[g.IntN(8)]
		return map[string]any{"type": "string"}, value, value
	case 1:
		n := g.Int64N(1<<60) - 1<<59
		return map[string]any{"type": "integer"}, n, g.either(n, fmt.Sprint(n))
	case 2:
		f := float64(g.IntN(1000)) + 0.5
		return map[string]any{"type": "number"}, f, g.either(f, fmt.Sprint(f))
	case 3:
		on := g.IntN(2) == 0
		return map[string]any{"type": "boolean"}, on, g.either(on, fmt.Sprint(on))
	case 4: // a doubt: nothing may change
		value = []any{"5", "true", int64(5), true, nil}[g.IntN(5)]
		return []map[string]any{{}, {"type": []any{"string", "integer", "boolean", "null"}}, {"description": "any"}}[g.IntN(3)], value, value
	case 5:
		n := int64(g.IntN(3))
		return map[string]any{"enum": []any{int64(0), int64(1), int64(2)}}, n, g.either(n, fmt.Sprint(n))
	case 6:
		inner, v, s := g.schema(depth - 1)
		return map[string]any{"anyOf": []any{inner, map[string]any{"type": "null"}}}, v, s
	case 7:
		items, v, s := g.schema(depth - 1)
		value, sent = []any{v}, []any{s}
		return map[string]any{"type": "array", "items": items}, value, g.either(sent, encode(sent))
	}
	object, values, others := g.object(depth - 1)
	return object, values, g.either(others, encode(others))
}

func (g *schemaGenerator) either(a, b any) any { return []any{a, b}[g.IntN(2)] }

// object returns the schema of an object, a value that fits it, and another form of the value.
func (g *schemaGenerator) object(depth int) (schema map[string]any, value, sent map[string]any) {
	properties, required := map[string]any{}, []any{}
	value, sent = map[string]any{}, map[string]any{}
	for range g.IntN(4) {
		g.fields++
		name := fmt.Sprintf("f%d", g.fields)
		property, v, s := g.schema(depth)
		properties[name] = property
		switch g.IntN(4) {
		case 0: // optional and null, where null is not a value
			if property["type"] == "integer" || property["type"] == "object" {
				sent[name] = nil
			}
		case 1: // required, and left to its default
			required = append(required, name)
			property["default"] = v
			value[name] = v
			if property["type"] == "boolean" && g.IntN(2) == 0 {
				sent[name] = nil
			}
		default:
			value[name], sent[name] = v, s
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}, value, sent
}

func encode(v any) string {
	text, err := jsonv2.Marshal(v, jsonv2.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// checkConversion checks the promises of a conversion for a generated schema and value.
func checkConversion(t *testing.T, seed uint64) {
	t.Helper()
	g := &schemaGenerator{Rand: rand.New(rand.NewPCG(seed, 1))}
	schema, value, sent := g.object(4)
	r := readerOf(t, encode(schema))
	plain, err := r.Read([]byte(encode(value)))
	if err != nil || string(plain.Canonical) != encode(value) || plain.Conversions != nil {
		t.Fatalf("seed %d: %s: a valid value changes: %s becomes %+v, %v", seed, encode(schema), encode(value), plain, err)
	}
	once, err := r.Read([]byte(encode(sent)))
	if err != nil || string(once.Canonical) != encode(value) {
		t.Fatalf("seed %d: %s\nfrom %s\n got %+v, %v\nwant %s", seed, encode(schema), encode(sent), once, err, encode(value))
	}
	if err := r.resolved.Validate(once.Values); err != nil {
		t.Fatalf("seed %d: %s: %s does not validate: %v", seed, encode(schema), once.Canonical, err)
	}
	var again argumentConverter
	if second := again.convertValue(r.shape(), once.Values, "", ""); !reflect.DeepEqual(second, any(once.Values)) || again.notes != nil {
		t.Fatalf("seed %d: %s: a second conversion changes %s to %s", seed, encode(schema), once.Canonical, encode(second))
	}
}

func TestGeneratedConversions(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20_000) {
		checkConversion(t, seed)
	}
}

func FuzzConversion(f *testing.F) {
	f.Fuzz(func(t *testing.T, seed uint64) { checkConversion(t, seed) })
}

// Whatever the schema and the arguments: a conversion validates, a second one changes nothing, and arguments that fit
// the schema are used as they are.
func FuzzConvertedArguments(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"anyOf":[{"type":"null"},{"type":"array"}]}}}`, `{"a":"5","b":"[]"}`)
	f.Add(`{"type":"object","required":["a"],"properties":{"a":{"allOf":[{"type":"object"},{"properties":{"b":{"default":1}}}]}}}`, `{"a":"{}"}`)
	f.Add(`{"type":"object","$defs":{"d":{"const":null}},"properties":{"a":{"$ref":"#/$defs/d"}}}`, `{"a":null}`)
	f.Fuzz(func(t *testing.T, schema, raw string) {
		var input Schema
		if input.UnmarshalJSON([]byte(schema)) != nil || input.CheckValidationCost() != nil {
			return
		}
		s, err := input.Parse()
		if err != nil || s.Type != "object" {
			return
		}
		r, err := NewArgumentReader(s)
		if err != nil {
			return
		}
		value, err := decodeStrictJSON([]byte(raw))
		if err != nil {
			return
		}
		values, _ := value.(map[string]any)
		var c argumentConverter
		if values != nil && r.validateValues(values) == nil {
			if converted := c.convertValue(r.shape(), values, "", ""); !reflect.DeepEqual(converted, value) {
				t.Fatalf("valid arguments change: %s: %s becomes %s", schema, raw, encode(converted))
			}
		}
		args, err := r.Read([]byte(raw))
		if err != nil {
			return
		}
		if err := r.resolved.Validate(args.Values); err != nil {
			t.Fatalf("%s: %s does not validate: %v", schema, args.Canonical, err)
		}
		second, err := r.Read(args.Canonical)
		if err != nil || string(second.Canonical) != string(args.Canonical) || second.Conversions != nil {
			t.Fatalf("%s: %s becomes %+v, %v", schema, args.Canonical, second, err)
		}
	})
}
