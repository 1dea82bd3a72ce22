package pluginpb

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a JSON Schema in a manifest. It stays text until somebody needs what it says: a host reads the manifests of
// all its plugins at every start, and the schema of a tool when the tool is first called. It may be used concurrently.
type Schema struct {
	text  json.RawMessage
	parse func() (*jsonschema.Schema, error)
}

// NewSchema makes a schema that is read already one of a manifest.
func NewSchema(s *jsonschema.Schema) (*Schema, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return &Schema{text: text, parse: func() (*jsonschema.Schema, error) { return s, nil }}, nil
}

// Parse returns the schema. The caller does not change it.
func (s *Schema) Parse() (*jsonschema.Schema, error) {
	if s == nil || s.parse == nil {
		return nil, errors.New("there is no schema")
	}
	return s.parse()
}

// MarshalJSON returns the schema as it was written.
func (s *Schema) MarshalJSON() ([]byte, error) { return s.text, nil }

// UnmarshalJSON keeps a schema's text.
func (s *Schema) UnmarshalJSON(text []byte) error {
	s.text = slices.Clone(text)
	s.parse = sync.OnceValues(func() (*jsonschema.Schema, error) {
		var parsed jsonschema.Schema
		err := json.Unmarshal(s.text, &parsed)
		return &parsed, err
	})
	return nil
}

// WithoutClaims is the schema as agents are told of it, without what is between a plugin and its host.
func (s *Schema) WithoutClaims() (json.RawMessage, error) {
	if s == nil {
		return nil, errors.New("there is no schema")
	}
	var schema any
	if err := json.Unmarshal(s.text, &schema); err != nil {
		return nil, err
	}
	dropClaims(schema)
	return json.Marshal(schema)
}

func dropClaims(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, ClaimKey)
		for _, below := range v {
			dropClaims(below)
		}
	case []any:
		for _, below := range v {
			dropClaims(below)
		}
	}
}

// mostSubschemas is how many schemas there may be in one when each reference is replaced by what it refers to: whoever
// validates goes through all of them, perhaps for each part of a value.
const mostSubschemas = 20_000

// CheckBounds says why a schema can't be validated by in bounded time, if it can't: one that refers to itself, perhaps
// by others, or that is a small text for a huge schema.
func (s *Schema) CheckBounds() error {
	var root any
	if err := json.Unmarshal(s.text, &root); err != nil {
		return err
	}
	b := bounds{root: root, sizes: map[string]int{}}
	_, err := b.size(root)
	return err
}

// bounds counts the schemas in a schema.
type bounds struct {
	root  any
	sizes map[string]int // by reference; 0 while it is counted
}

func (b *bounds) size(v any) (n int, err error) {
	add := func(more int, moreErr error) bool {
		if n += more; moreErr == nil && n > mostSubschemas {
			moreErr = fmt.Errorf("with its references it has more than %d schemas", mostSubschemas)
		}
		err = moreErr
		return err == nil
	}
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if !add(b.size(one)) {
				return n, err
			}
		}
	case map[string]any:
		n = 1
		for name, one := range v {
			switch name {
			case "enum", "const", "default", "examples":
				continue // values
			case "$ref", "$dynamicRef", "$recursiveRef":
				if ref, ok := one.(string); ok {
					if !add(b.reference(ref)) {
						return n, err
					}
					continue
				}
			}
			if !add(b.size(one)) {
				return n, err
			}
		}
	}
	return n, nil
}

// reference counts the schemas in what a reference refers to.
func (b *bounds) reference(ref string) (int, error) {
	if n, known := b.sizes[ref]; known {
		if n == 0 {
			return 0, fmt.Errorf("it refers to itself by %q", ref)
		}
		return n, nil
	}
	pointer, local := strings.CutPrefix(ref, "#")
	if pointer, _ = url.PathUnescape(pointer); !local || pointer != "" && !strings.HasPrefix(pointer, "/") {
		return 0, fmt.Errorf("it refers to %q; references of the form #/$defs/name alone are known", ref)
	}
	at := b.root
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch within := at.(type) {
		case map[string]any:
			at = within[part]
		case []any:
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(within) {
				at = within[i]
				continue
			}
			at = nil
		default:
			at = nil
		}
	}
	if at == nil {
		return 0, fmt.Errorf("it refers to %q, which is not there", ref)
	}
	b.sizes[ref] = 0
	n, err := b.size(at)
	b.sizes[ref] = max(n, 1)
	return n, err
}
