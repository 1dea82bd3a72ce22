package config

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzJSON(f *testing.F) {
	for _, fault := range jsonFaults {
		if len(fault.text) < 1000 {
			f.Add(fault.text)
		}
	}
	f.Add(`{"agents": {"list": [{"id": "a", "tools": {"disabled": ["exec"]}}]}, /* c */ "plugins": {"p": {"config": {"a.b": 1e999}}}, // d` + "\n}")
	f.Fuzz(func(t *testing.T, text string) { checkText(t, "config.json", text, parseJSON) })
}

func FuzzYAML(f *testing.F) {
	f.Add("agents:\n  list:\n  - &a {id: a}\n  - {id: b, tools: {disabled: [exec]}}\n")
	f.Add("tools: {exec: {timeout_seconds: 0x10}}\nplugins: {p: {config: {d: 2001-01-01, f: .inf, n: ~}}}\n")
	f.Add("a: &a [*a]\n--- {}\n? x\n: <<")
	f.Add(bomb())
	f.Fuzz(func(t *testing.T, text string) { checkText(t, "config.yaml", text, parseYAML) })
}

// checkText checks what must be true of every text: it is loaded, and then all of it can be used, or it has faults that
// each have a place in the file.
func checkText(t *testing.T, name, text string, parse func([]byte, Origin) (*documentNode, *Error)) {
	if !utf8.ValidString(text) {
		return
	}
	file := Origin{Source: FileSource, Name: name}
	lines := 1
	for _, r := range text {
		if strings.ContainsRune("\n\r\u0085\u2028\u2029", r) { // all of them end a line in YAML
			lines++
		}
	}
	document, err := parse([]byte(text), file)
	if err == nil {
		c := &Config{project: &Project{}, home: Home{Path: "/home/user/.picoclaw"}, file: name}
		faults := c.mergeLayers(&documentNode{kind: objectNode}, document, environment{"HOME=/home/user"})
		if len(faults) == 0 {
			useAll(t, c, lines)
			return
		}
		for _, fault := range faults {
			checkPlace(t, fault, text, name, lines)
		}
		return
	}
	checkPlace(t, err, text, name, lines)
}

func checkPlace(t *testing.T, err *Error, text, name string, lines int) {
	if err.Origin.Name != name || err.Origin.Line > lines || err.Problem == "" {
		t.Errorf("%q: the error is %+v", text, err)
	}
	if errors.Unwrap(err) == nil && err.Origin.Line == 0 {
		t.Errorf("%q: an error of the check has no line: %v", text, err)
	}
}

func useAll(t *testing.T, c *Config, lines int) {
	for _, id := range c.AgentIDs() {
		a, err := c.ResolveAgent(id)
		if err != nil {
			t.Fatalf("agent %q: %v", id, err)
		}
		if a.Workspace == "" || a.Workspace[0] != '/' || a.Tools.Exec.TimeoutSeconds < 1 {
			t.Errorf("agent %q is %+v", id, a)
		}
		checkSettings(t, a.Settings(), lines)
	}
	for _, id := range c.PluginIDs() {
		_ = c.Plugin(id)
	}
	checkSettings(t, c.Settings(), lines)
}

func checkSettings(t *testing.T, settings []Setting, lines int) {
	for _, s := range settings {
		if s.Origin.Source == FileSource && (s.Origin.Line < 1 || s.Origin.Line > lines) {
			t.Errorf("%s comes from line %d of %d", s.Key, s.Origin.Line, lines)
		}
	}
}

func FuzzVariables(f *testing.F) {
	for _, row := range KnownKeys() {
		if variable := row.VariableName(); variable != "" {
			f.Add(strings.TrimPrefix(strings.ReplaceAll(variable, "<id>", "X"), variablePrefix), `["a"]`)
		}
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		if strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") || !utf8.ValidString(value) {
			return
		}
		name = variablePrefix + name
		c := &Config{project: &Project{}, home: Home{Path: "/home/user/.picoclaw"}}
		if faults := c.mergeLayers(&documentNode{kind: objectNode}, &documentNode{kind: objectNode}, environment{"HOME=/home/user", name + "=" + value}); len(faults) > 0 {
			for _, err := range faults {
				if err.Origin.Name != name {
					t.Errorf("%s=%s: %+v", name, value, err)
				}
			}
			return
		}
		useAll(t, c, 0)
	})
}
