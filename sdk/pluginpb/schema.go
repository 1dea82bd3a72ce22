package pluginpb

import (
	"encoding/json"
	"errors"
	"slices"
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
