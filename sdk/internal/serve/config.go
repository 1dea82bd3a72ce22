package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/schema"
)

// decodeConfig decodes the operator's configuration into a copy of the defaults.
func decodeConfig(defaults any, raw json.RawMessage) (any, error) {
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
	if err := validateConfig(defaults, raw); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, c.Interface()); err != nil {
		return nil, err
	}
	return c.Elem().Interface(), nil
}

func validateConfig(defaults any, raw json.RawMessage) error {
	var values map[string]any
	if err := json.Unmarshal(raw, &values); err != nil {
		return fmt.Errorf("it is not a JSON object: %w", err)
	}
	s, err := schema.InferConfig(defaults)
	if err != nil {
		return err
	}
	known := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if s.Properties[name] == nil {
			return fmt.Errorf("unknown key %q%s", name, suggest.DidYouMean(name, known))
		}
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	return resolved.Validate(values)
}
