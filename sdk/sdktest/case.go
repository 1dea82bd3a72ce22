package sdktest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/sdk"
)

// Case is one call of a tool, with the files before it and the expected results. Empty expectations are not checked,
// but a case without WantErr must succeed.
type Case struct {
	Name   string
	Tool   string
	Args   any               // JSON text (string or []byte), or a value to encode as JSON; nil for none
	Files  map[string]string // workspace before the call: slash-separated names to contents
	Config any               // operator's configuration of the plugin, encoded as JSON

	// Prepare adds things that Files can't express, such as symlinks; dir is the workspace.
	Prepare func(t testing.TB, dir string)

	Want         string            // exact text
	WantContains []string          // parts of the text, or of the error's message
	WantJSON     any               // structured result: JSON text, or a value that is compared as JSON
	WantErr      string            // error code, such as sdk.NotFound
	WantFiles    map[string]string // workspace after the call

	// Check is called after the call for further checks; dir is the workspace.
	Check func(t testing.TB, dir string, r Result)
}

// Run makes each case's call in the process of the test, each in a new workspace.
func Run(t *testing.T, p sdk.Plugin, cases ...Case) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.caseName(), func(t *testing.T) {
			started := Start(t, p, Options{Files: c.Files, Config: c.Config})
			c.prepareWorkspace(t, started.Dir)
			if started.readers[c.Tool] == nil {
				t.Fatalf("the plugin has no tool %q", c.Tool)
			}
			c.checkResult(t, started.Dir, started.Call(c.Tool, c.argumentValue()))
		})
	}
}

func (c *Case) caseName() string { return cmp.Or(c.Name, c.Tool) }

func (c *Case) prepareWorkspace(t testing.TB, dir string) {
	if c.Prepare != nil {
		c.Prepare(t, dir)
	}
}

func (c *Case) argumentValue() any {
	if c.Args == nil {
		return "{}"
	}
	return c.Args
}

// checkResult compares a call's result with the expected one.
func (c *Case) checkResult(t testing.TB, dir string, r Result) {
	t.Helper()
	c.checkSuccess(t, r)
	if c.Want != "" && r.Text != c.Want {
		t.Errorf("the text differs (-want +got):\n%s", gocmp.Diff(c.Want, r.Text))
	}
	all := r.Text + "\n" + r.Err.GetMessage()
	for _, part := range c.WantContains {
		if !strings.Contains(all, part) {
			t.Errorf("%q is missing in:\n%s", part, strings.TrimSpace(all))
		}
	}
	if c.WantJSON != nil {
		want, err := normalizeJSON(c.WantJSON)
		if err != nil {
			t.Fatalf("WantJSON: %v", err)
		}
		got, err := normalizeJSON(r.Structured)
		if err != nil {
			t.Errorf("the structured result %q: %v", r.Structured, err)
		} else if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("the structured result differs (-want +got):\n%s", diff)
		}
	}
	for name, want := range c.WantFiles {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Errorf("after the call: %v", err)
		} else if diff := gocmp.Diff(want, string(got)); diff != "" {
			t.Errorf("after the call %s differs (-want +got):\n%s", name, diff)
		}
	}
	if c.Check != nil {
		c.Check(t, dir, r)
	}
}

func (c *Case) checkSuccess(t testing.TB, r Result) {
	t.Helper()
	switch {
	case c.WantErr == "" && r.Err != nil:
		t.Errorf("%s failed: %s [%s]\n%s", c.Tool, r.Err.GetMessage(), r.Err.GetCode(), r.Err.GetHint())
	case c.WantErr != "" && r.Err == nil:
		t.Errorf("%s succeeded with %q; it should have failed with the code %s", c.Tool, r.Text, c.WantErr)
	case c.WantErr != r.Err.GetCode():
		t.Errorf("%s failed with the code %s, not %s: %s", c.Tool, r.Err.GetCode(), c.WantErr, r.Err.GetMessage())
	}
}

// encodeJSON returns JSON text unchanged, and other values as JSON.
func encodeJSON(v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return []byte(v), nil
	case []byte:
		return v, nil
	case json.RawMessage:
		return v, nil
	}
	return json.Marshal(v)
}

// normalizeJSON decodes a value's JSON, for comparison.
func normalizeJSON(v any) (any, error) {
	raw, err := encodeJSON(v)
	if err != nil {
		return nil, err
	}
	var out any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&out)
	return out, err
}
