package serve

import (
	"encoding/json"
	"strings"
	"testing"
)

type nestedSettings struct {
	Names []string       `json:"names" jsonschema:"which"`
	Sizes map[string]int `json:"sizes" jsonschema:"how large"`
}

func TestReadersDoNotShareDefaults(t *testing.T) {
	defaults := nestedSettings{Names: []string{"a", "b"}, Sizes: map[string]int{"a": 1}}
	if _, err := decodeConfig(defaults, json.RawMessage(`{"names":["x","y"],"sizes":{"b":2}}`)); err != nil {
		t.Fatal(err)
	}
	c, err := decodeConfig(defaults, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.(nestedSettings); strings.Join(got.Names, "") != "ab" || len(got.Sizes) != 1 {
		t.Errorf("the defaults have become %+v", got)
	}
}

func TestConfigurationMustBeStruct(t *testing.T) {
	p := Plugin{ID: "p", Version: "1.0.0", Doc: "d", Config: "hello"}
	if _, err := NewManifest(p); err == nil || !strings.Contains(err.Error(),
		"configuration: the type is string; it must be a struct") {
		t.Errorf("the error is %v", err)
	}
}

type bounded struct {
	Greeting string `json:"greeting"`
	Times    int    `json:"times" minimum:"1" maximum:"9"`
}

// Whatever an operator writes, a handler sees settings within their bounds or none.
func FuzzConfiguration(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"times":3}`, `{"times":10}`, `{"TIMES":99}`, `{"times":1,"times":99}`,
		`{"greeting":null}`, `[]`, `{"times":1e0}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		c, err := decodeConfig(bounded{Greeting: "hello", Times: 1}, json.RawMessage(raw))
		if err != nil {
			return
		}
		if got := c.(bounded); got.Times < 1 || got.Times > 9 {
			t.Errorf("%q is read as %+v", raw, got)
		}
	})
}
