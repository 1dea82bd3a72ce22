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

// nouns are the last words of names that mean a path or a command nearly always, with the claims that fit.
var nouns = map[string]string{
	"path": "read, write, list or delete", "paths": "read, write, list or delete",
	"file": "read, write or delete", "files": "read, write or delete",
	"filename": "read, write or delete", "filenames": "read, write or delete",
	"dir": "list, read, write or delete", "dirs": "list, read, write or delete",
	"directory": "list, read, write or delete", "directories": "list, read, write or delete",
	"folder": "list, read, write or delete", "folders": "list, read, write or delete",
	"command": "command", "commands": "command", "cmd": "command",
}

// closed reports whether an object's schema refuses names that it does not know.
func closed(s *jsonschema.Schema) bool {
	if s.AdditionalProperties == nil {
		return false
	}
	text, err := json.Marshal(s.AdditionalProperties)
	return err == nil && bytes.Equal(text, []byte("false"))
}

// fields looks at the properties of an object, and at theirs.
func (c *check) fields(tool, at string, s *jsonschema.Schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		c.field(tool, at+name, name, s.Properties[name])
	}
}

func (c *check) field(tool, at, name string, s *jsonschema.Schema) {
	if strings.TrimSpace(s.Description) == "" {
		c.add(tool, at, "nothing says what it means", `describe it in the field's jsonschema tag`)
	}
	if len(s.Default) > 0 {
		if err := fits(s); err != nil {
			c.add(tool, at, fmt.Sprintf("its default %s does not fit: %v", s.Default, err), "choose one that a call could give")
		}
	}
	inner, below := s, at
	for inner.Items != nil {
		inner, below = inner.Items, below+".*"
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' })
	if claims, ok := nouns[last(words)]; ok && takesText(inner) && !claimed(s) && !claimed(inner) {
		c.add(tool, at, "its name says that it names something to guard, and it carries no claim, so the host does not guard it",
			fmt.Sprintf("claim %s in the field's claim tag, or call it something else", claims))
	}
	c.fields(tool, below+".", inner)
}

func last(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

func takesText(s *jsonschema.Schema) bool {
	return len(s.Enum) == 0 && (s.Type == "string" || slices.Contains(s.Types, "string"))
}

func claimed(s *jsonschema.Schema) bool { return s.Extra[pluginpb.ClaimKey] != nil }

// fits says what is wrong with a schema's default, if anything is.
func fits(s *jsonschema.Schema) error {
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
