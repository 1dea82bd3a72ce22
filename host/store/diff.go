package store

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/aymanbagabas/go-udiff"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Diff returns what is different in what two versions of a plugin offer and ask for, as a unified diff; empty if
// nothing is. Their versions and programs are not part of it.
func Diff(old, new *pluginpb.Manifest) (string, error) {
	before, err := definition(old)
	if err != nil {
		return "", err
	}
	after, err := definition(new)
	if err != nil {
		return "", err
	}
	return udiff.Unified(old.ID+" "+old.Version, new.ID+" "+new.Version, before, after), nil
}

// definition is what an operator says yes to, in a form that can be compared by lines.
func definition(m *pluginpb.Manifest) (string, error) {
	tools := map[string]pluginpb.Spec{}
	for _, t := range m.Tools {
		tools[t.Name] = t
	}
	text, err := json.Marshal(map[string]any{"doc": m.Doc, "grants": m.Grants, "tools": tools, "config": m.Config})
	if err != nil {
		return "", fmt.Errorf("compare plugin %s: %w", m.ID, err)
	}
	// By way of a value, so that the order of names is the same whoever wrote them.
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return "", fmt.Errorf("compare plugin %s: %w", m.ID, err)
	}
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(value)
	return lines.String(), err
}
