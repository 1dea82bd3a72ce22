package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/internal/nearest"
)

// configSchema infers the schema of what an operator can configure from a struct with the values that stand where the
// operator says nothing.
func configSchema(defaults any) (*jsonschema.Schema, error) {
	t := reflect.TypeOf(defaults)
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the type is %s; it must be a struct", t)
	}
	s, err := jsonschema.ForType(t, nil)
	if err != nil {
		return nil, fmt.Errorf("infer the schema: %w", err)
	}
	if err := annotate(s, t); err != nil {
		return nil, err
	}
	s.Required = nil // there is a default for everything
	text, err := json.Marshal(defaults)
	if err != nil {
		return nil, err
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, err
	}
	for name, value := range values {
		if p := s.Properties[name]; p != nil {
			p.Default = value
		}
	}
	return s, nil
}

// readConfig returns the operator's configuration as a value of the defaults' type.
func readConfig(defaults any, raw json.RawMessage) (any, error) {
	text, err := json.Marshal(defaults) // read anew each time, so that no two processes of a test share what it points to
	if err != nil {
		return nil, err
	}
	c := reflect.New(reflect.TypeOf(defaults))
	if err := json.Unmarshal(text, c.Interface()); err != nil {
		return nil, err
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return c.Elem().Interface(), nil
	}
	if err := checkConfig(defaults, raw); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, c.Interface()); err != nil {
		return nil, err
	}
	return c.Elem().Interface(), nil
}

func checkConfig(defaults any, raw json.RawMessage) error {
	var values map[string]any
	if err := json.Unmarshal(raw, &values); err != nil {
		return fmt.Errorf("it is not a JSON object: %w", err)
	}
	s, err := configSchema(defaults)
	if err != nil {
		return err
	}
	known := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if s.Properties[name] == nil {
			return fmt.Errorf("unknown key %q%s", name, nearest.Suggest(name, known))
		}
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	return resolved.Validate(values)
}
