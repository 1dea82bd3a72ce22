package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// pathNouns are last words of argument names that usually mean a path or command, with the claims that fit.
var pathNouns = map[string]string{
	"path": "read, write, list or delete", "paths": "read, write, list or delete",
	"file": "read, write or delete", "files": "read, write or delete",
	"filename": "read, write or delete", "filenames": "read, write or delete",
	"dir": "list, read, write or delete", "dirs": "list, read, write or delete",
	"directory": "list, read, write or delete", "directories": "list, read, write or delete",
	"folder": "list, read, write or delete", "folders": "list, read, write or delete",
	"command": "command", "commands": "command", "cmd": "command",
}

// rejectsUnknownFields reports whether an object schema rejects unknown names.
func rejectsUnknownFields(s *jsonschema.Schema) bool {
	if s.AdditionalProperties == nil {
		return false
	}
	text, err := json.Marshal(s.AdditionalProperties)
	return err == nil && bytes.Equal(text, []byte("false"))
}

// checkFields checks the properties of an object, and nested ones.
func (c *manifestChecker) checkFields(tool, at string, s *jsonschema.Schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		c.checkField(tool, at+name, name, s.Properties[name])
	}
}

func (c *manifestChecker) checkField(tool, at, name string, s *jsonschema.Schema) {
	if strings.TrimSpace(s.Description) == "" {
		c.addFinding(tool, at, "it has no description", `describe it in the field's jsonschema tag`)
	}
	if len(s.Default) > 0 {
		if err := checkDefault(s); err != nil {
			c.addFinding(tool, at, fmt.Sprintf("its default %s does not fit: %v", s.Default, err), "choose one that a call could give")
		}
	}
	inner, below := s, at
	for inner.Items != nil {
		inner, below = inner.Items, below+".*"
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' })
	if claims, ok := pathNouns[lastWord(words)]; ok && acceptsText(inner) && !hasClaim(s) && !hasClaim(inner) {
		c.addFinding(tool, at, "its name suggests a path or command, but it has no claim, so the guard ignores it",
			fmt.Sprintf("claim %s in the field's claim tag, or call it something else", claims))
	}
	c.checkFields(tool, below+".", inner)
}

func lastWord(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

func acceptsText(s *jsonschema.Schema) bool {
	return len(s.Enum) == 0 && (s.Type == "string" || slices.Contains(s.Types, "string"))
}

func hasClaim(s *jsonschema.Schema) bool { return s.Extra[pluginpb.ClaimKey] != nil }

// checkDefault returns an error if a schema's default does not fit it.
func checkDefault(s *jsonschema.Schema) error {
	var value any
	if err := json.Unmarshal(s.Default, &value); err != nil {
		return err
	}
	alone := s.CloneSchemas()
	alone.Default = nil
	resolved, err := alone.Resolve(nil)
	if err != nil {
		return err
	}
	return resolved.Validate(value)
}
