package pluginpb

import (
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

const testSchema = `{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer","minimum":0},
	"ratio":{"type":"number","maximum":1000000},"kind":{"type":"string","enum":["file","dir"]},"deep":{"type":"object","properties":{"x":{"type":"array","items":{"type":"string"}}},
	"additionalProperties":false},"on":{"type":"boolean"},"env":{"type":"object","additionalProperties":{"type":"string"}},"short":{"type":"string","maxLength":2},
	"list":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"},"n":{"type":"integer","minimum":1}},"required":["a"],"additionalProperties":false}}},"required":["path"],"additionalProperties":false}`

func testReader(t testing.TB) *ArgumentParser {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(testSchema), &s); err != nil {
		t.Fatal(err)
	}
	r, err := NewArgumentReader(&s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Large arguments take their values, their canonical JSON and, if a text has escapes, one copy more.
func TestArgumentAllocation(t *testing.T) {
	const size = 4 << 20
	r := testReader(t)
	for name, c := range map[string]struct {
		text string
		max  uint64
	}{
		"plain":     {strings.Repeat("x", size), size * 5 / 2},
		"escaped":   {strings.Repeat(`\n`, size/2), size * 3},
		"multibyte": {strings.Repeat("é", size/2), size * 5 / 2},
	} {
		raw := []byte(`{"path":"` + c.text + `"}`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		args, err := r.Read(raw)
		runtime.ReadMemStats(&after)
		if err != nil || string(args.Canonical) != string(raw) {
			t.Fatalf("%s: %v", name, err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > c.max {
			t.Errorf("%s: %d bytes are allocated for %d; want at most %d", name, allocated, size, c.max)
		}
	}
}

func TestArgumentsAreParsedAndEncoded(t *testing.T) {
	r := testReader(t)
	for in, want := range map[string]string{
		`{"path":"a"}`:                        `{"path":"a"}`,
		`{ "n" : 1e1 , "path" : "\u0061" }`:   `{"n":10,"path":"a"}`,
		`{"path":"a","n":1.0,"ratio":2.5}`:    `{"n":1,"path":"a","ratio":2.5}`,
		`{"path":"a","n":9007199254740993}`:   `{"n":9007199254740993,"path":"a"}`,
		`{"path":"a","deep":{"x":["1","2"]}}`: `{"deep":{"x":["1","2"]},"path":"a"}`,
		`{"path":"\ud83d\ude00"}`:             `{"path":"😀"}`,
	} {
		got, err := r.Read([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if string(got.Canonical) != want {
			t.Errorf("%s is written as %s; want %s", in, got.Canonical, want)
		}
	}
}

func TestArgumentErrorIsOneLine(t *testing.T) {
	r := testReader(t)
	for in, want := range map[string]string{
		`{"path":"ok","PATH":"/o"}`:             `unknown argument "PATH"`,
		`{"path":"ok","path":"/o"}`:             `argument "path" is given twice`,
		`{"path":"ok","deep":{"x":[],"x":[]}}`:  `argument "deep/x" is given twice`,
		`{"path":"a","deep":{"X":[]}}`:          `argument "deep": unknown name "X"; it takes x`,
		`{"path":"a","deep":{"x":["a",5]}}`:     `argument "deep": x[1] must be a string, not a number`,
		`{"path":"a","deep":{"x":[null]}}`:      `argument "deep": x[0] must be a string, not null`,
		`{"path":"a","env":{"A":5}}`:            `argument "env": A must be a string, not a number`,
		`{"path":"a","env":{"A":{}}}`:           `argument "env": A must be a string, not an object`,
		`{"path":"a","list":[{"a":"x"},{}]}`:    `argument "list": [1]: a is missing`,
		`{"path":"a","list":[{"a":5}]}`:         `argument "list": [0].a must be a string, not a number`,
		`{"path":"a","list":[{"a":"","n":0}]}`:  `argument "list": [0].n must be at least 1, not 0`,
		`{"path":"a","list":[{"a":"","b":""}]}`: `argument "list": [0]: unknown name "b"; it takes a, n`,
		`{"path":"a","short":"long"}`:           `the arguments do not fit: maxLength`,
		`{"path":"a","n":1e18}`:                 `argument "n" is too large: a whole number is at most 9007199254740992`,
		`{"path":"a","n":-1e18}`:                `argument "n" is too small: a whole number is at least -9007199254740992`,
		`{"path":"a","n":10000000000000000000}`: `argument "n" is too large`,
		`{"pth":"ok"}`:                          `unknown argument "pth"`,
		`{"path":7}`:                            `argument "path" must be a string, not a number`,
		`{"path":null}`:                         `argument "path" must be a string, not null`,
		`{"path":["a"]}`:                        `argument "path" must be a string, not an array`,
		`{"path":"a","n":1.5}`:                  `argument "n" must be a whole number, not 1.5`,
		`{"path":"a","n":"1.5"}`:                `argument "n" must be a whole number, not a string`,
		`{"path":"a","on":"yes"}`:               `argument "on" must be a boolean, not a string`,
		`{"path":"a","n":-1}`:                   `argument "n" must be at least 0, not -1`,
		`{"path":"a","ratio":2e6}`:              `argument "ratio" must be at most 1000000, not 2000000`,
		`{"path":"a","kind":"fifo"}`:            `argument "kind" must be one of "file", "dir", not "fifo"`,
		`{"path":"a","n":1e999}`:                `out of range`,
		`{}`:                                    `argument "path" is missing`,
		``:                                      `argument "path" is missing`,
		`[]`:                                    `must be a JSON object, not an array`,
		`"x"`:                                   `must be a JSON object, not a string`,
		`{"path":"a"} {"path":"b"}`:             `something follows it`,
		`{"path":"a"`:                           `not valid JSON: unexpected EOF, at byte 11`,
		`{"path":"` + "\xff" + `"}`:             `not valid JSON: invalid UTF-8, at byte 9`,
		`{"path":"\ud800"}`:                     `not valid JSON: invalid surrogate pair`,
		strings.Repeat(`{"a":`, 20000):          `not valid JSON: exceeded max depth, at byte `,
		strings.Repeat(`[`, 200000):             `not valid JSON: exceeded max depth, at byte 10000`,
		`{path:1}`:                              `not valid JSON: invalid character 'p' at start of value, at byte 1`,
		`{'path':1}`:                            `not valid JSON: invalid character '\'' at start of value, at byte 1`,
		`{"path" "a"}`:                          `not valid JSON: invalid character '"' after object name (expecting ':'), at byte 8`,
		`{"path":}`:                             `not valid JSON: invalid character '}' at start of value, at byte 8`,
		`{"path":yes}`:                          `not valid JSON: invalid character 'y' at start of value, at byte 8`,
		`{"path":"a",}`:                         `not valid JSON: invalid character ',' at start of value, at byte 11`,
		`{"list":["a",]}`:                       `not valid JSON: invalid character ',' at start of value, at byte 12`,
		`{"path":"\x"}`:                         `not valid JSON: invalid escape sequence`,
		`hello`:                                 `not valid JSON: invalid character 'h' at start of value, at byte 0`,
	} {
		_, err := r.Read([]byte(in))
		var wrong *InvalidArgumentsError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: the error is %q; want one line that says %q", in, err, want)
		}
	}
	if _, err := r.Read(make([]byte, MaxArgumentBytes+1)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("too many bytes: %v", err)
	}
}

// Whatever is accepted reads the same when it is read again, by this reader and by encoding/json.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"path":"a","n":1,"ratio":1.5,"deep":{"x":["y"]}}`, `{"path":"a","PATH":"b"}`,
		`{"path":"\u0000"}`} {
		f.Add([]byte(seed))
	}
	r := testReader(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		first, err := r.Read(raw)
		if err != nil {
			var wrong *InvalidArgumentsError
			if !errors.As(err, &wrong) {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			return
		}
		second, err := r.Read(first.Canonical)
		if err != nil {
			t.Fatalf("what was accepted is refused when written anew: %v\n%s", err, first.Canonical)
		}
		if !reflect.DeepEqual(first.Values, second.Values) {
			t.Fatalf("read twice, the values differ: %v and %v", first.Values, second.Values)
		}
		var typed struct {
			Path string `json:"path"`
		}
		if err := json.Unmarshal(first.Canonical, &typed); err != nil {
			t.Fatal(err)
		}
		if typed.Path != first.Values["path"] {
			t.Fatalf("the plugin would read %q, the host has read %q", typed.Path, first.Values["path"])
		}
	})
}

func TestManifestMayBeginWithByteOrderMark(t *testing.T) {
	const text = `{"id":"a","version":"1.0.0","doc":"d","protocol":{"min":1,"max":1},"grants":{"workspace":"ro"},
		"tools":[{"name":"t","doc":"d","input":{"type":"object"}}]}`
	if _, err := ParseManifest([]byte("\ufeff" + text)); err != nil {
		t.Error(err)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"id":"a","version":"1","doc":"d","protocol":{"min":1,"max":1},"grants":{"workspace":"ro"},
		"tools":[{"name":"t","doc":"d","input":{"type":"object"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err == nil && m.Check() != nil {
			t.Fatal("a manifest that was accepted does not pass its own check")
		}
		if err != nil {
			return
		}
		for i := range m.Tools {
			_ = m.Tools[i].CheckSchemas() // whatever it says, it comes back
		}
	})
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
