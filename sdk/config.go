package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/internal/nearest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Config says what an operator can configure of a plugin: plugins.<id>.config in picoclaw's configuration. Make it with
// [NewConfig]; the zero value is a plugin that leaves its configuration to itself, see [Environment.Config].
type Config struct {
	schema func() (*jsonschema.Schema, error)
	read   func(json.RawMessage) (any, error)
}

// NewConfig makes the configuration of a plugin from a struct with the values that stand where the operator says
// nothing. Its schema is inferred as that of a tool's arguments is, and goes into the manifest. Handlers get the
// operator's values with [ConfigOf]; a configuration that does not fit keeps the plugin from starting.
func NewConfig[C any](defaults C) Config {
	return Config{
		schema: func() (*jsonschema.Schema, error) { return configSchema(defaults) },
		read:   func(raw json.RawMessage) (any, error) { return readConfig(defaults, raw) },
	}
}

// ConfigOf returns the operator's configuration for a call. C is the type that the plugin's [Config] was made of; like a
// type assertion it panics if it is another.
func ConfigOf[C, In any](req *Request[In]) C {
	c, ok := req.settings.(C)
	if !ok {
		panic(fmt.Sprintf("ConfigOf is asked for a %s, and the plugin's Config was made of a %T", reflect.TypeFor[C](), req.settings))
	}
	return c
}

func configSchema[C any](defaults C) (*jsonschema.Schema, error) {
	t := reflect.TypeFor[C]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the type is %s; it must be a struct", t)
	}
	s, err := jsonschema.For[C](nil)
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

func readConfig[C any](defaults C, raw json.RawMessage) (any, error) {
	text, err := json.Marshal(defaults) // read anew each time, so that no two processes of a test share what it points to
	if err != nil {
		return nil, err
	}
	var c C
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return c, nil
	}
	if err := checkConfig(defaults, raw); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, err
	}
	return c, nil
}

func checkConfig[C any](defaults C, raw json.RawMessage) error {
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

// manifest puts the schema into a manifest, if there is one.
func (c Config) manifest() (*pluginpb.Schema, error) {
	if c.schema == nil {
		return nil, nil
	}
	s, err := c.schema()
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return pluginpb.NewSchema(s)
}
