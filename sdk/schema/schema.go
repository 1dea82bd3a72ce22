// Package schema infers JSON Schemas from Go types and their struct tags: those of a tool's arguments and results, and
// that of a plugin's configuration. It must not know how tools are served.
package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// InferInput returns the schema of a tool's arguments for a struct type.
func InferInput(t reflect.Type) (*pluginpb.Schema, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the input type is %s; it must be a struct", t)
	}
	s, err := inferSchema(t, "input schema")
	if err != nil {
		return nil, err
	}
	return pluginpb.NewSchema(s)
}

// InferOutput returns the schema of a tool's structured result; nil for a string type.
func InferOutput(t reflect.Type) (*pluginpb.Schema, error) {
	if t.Kind() == reflect.String {
		return nil, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the output type is %s; it must be a string or a struct", t)
	}
	s, err := inferSchema(t, "output schema")
	if err != nil {
		return nil, err
	}
	return pluginpb.NewSchema(s)
}

// InferConfig returns the schema of a plugin's configuration for a struct with the default values.
func InferConfig(defaults any) (*jsonschema.Schema, error) {
	t := reflect.TypeOf(defaults)
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the type is %s; it must be a struct", t)
	}
	s, err := inferSchema(t, "schema")
	if err != nil {
		return nil, err
	}
	s.Required = nil // every property has a default
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

func inferSchema(t reflect.Type, name string) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, nil)
	if err != nil {
		return nil, fmt.Errorf("infer the %s: %w", name, err)
	}
	return s, annotateSchema(s, t)
}

// annotateSchema applies struct tags to an inferred schema. It removes "null" from arrays: nil slices are sent as empty
// arrays, and two types confuse clients.
func annotateSchema(s *jsonschema.Schema, t reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer:
		return annotateSchema(s, t.Elem())
	case reflect.Slice, reflect.Array:
		if slices.Equal(s.Types, []string{"null", "array"}) {
			s.Type, s.Types = "array", nil
		}
		if s.Items != nil {
			return annotateSchema(s.Items, t.Elem())
		}
		return nil
	case reflect.Struct:
		return annotateFields(s, t)
	}
	return nil
}

func annotateFields(s *jsonschema.Schema, t reflect.Type) error {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		name = cmp.Or(name, f.Name)
		prop := s.Properties[name]
		if prop == nil {
			continue // unexported, embedded or left out of the JSON
		}
		if f.Type.Kind() == reflect.Pointer && strings.Contains(options, "omit") && len(prop.Types) == 2 &&
			prop.Types[0] == "null" {
			// It is left out where there is nothing; to send null for it would be a third way.
			prop.Type, prop.Types = prop.Types[1], nil
		}
		if err := annotateSchema(prop, f.Type); err != nil {
			return err
		}
		if err := applyTags(prop, f); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

func applyTags(s *jsonschema.Schema, f reflect.StructField) error {
	if text, ok := f.Tag.Lookup("claim"); ok {
		if !pluginpb.ArgumentClaim(text).IsValid() {
			return fmt.Errorf("claim %q is not one of read, write, list, delete, command, cwd, env", text)
		}
		// A list of paths carries its claim on the elements.
		target := s
		if s.Items != nil {
			target = s.Items
		}
		target.Extra = map[string]any{pluginpb.ClaimKey: text}
	}
	if text, ok := f.Tag.Lookup("enum"); ok {
		for value := range strings.SplitSeq(text, ",") {
			s.Enum = append(s.Enum, value)
		}
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		value, err := parseDefault(f.Type, text)
		if err != nil {
			return fmt.Errorf("default %q: %w", text, err)
		}
		s.Default = value
	}
	var err error
	if s.Minimum, err = parseBound(f, "minimum"); err != nil {
		return err
	}
	s.Maximum, err = parseBound(f, "maximum")
	return err
}

func parseBound(f reflect.StructField, tag string) (*float64, error) {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return nil, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("%s %q is not a number", tag, text)
	}
	return &n, nil
}

// parseDefault converts the text of a default tag to JSON of the field's type.
func parseDefault(t reflect.Type, text string) (json.RawMessage, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.String {
		return json.Marshal(text)
	}
	value := reflect.New(t)
	if err := json.Unmarshal([]byte(text), value.Interface()); err != nil {
		return nil, errors.New("it does not fit the field's type")
	}
	return json.RawMessage(text), nil
}
