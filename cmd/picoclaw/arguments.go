package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// arguments makes the JSON arguments of a call from what is on the command line: one JSON object, or key=value pairs
// that are typed by the tool's schema.
func (a *app) arguments(s *host.Session, tool string, pairs []string, text string, isJSON bool) (json.RawMessage, error) {
	if isJSON {
		if len(pairs) > 0 {
			return nil, usage("give the arguments either as key=value or with --json")
		}
		if text != "-" {
			return json.RawMessage(text), nil
		}
		data, err := io.ReadAll(io.LimitReader(a.stdin, pluginpb.MaxArgumentBytes+1))
		if err != nil {
			return nil, usage("read the arguments from standard input: %v", err)
		}
		return data, nil
	}
	var schema *jsonschema.Schema
	for _, t := range s.Tools() {
		if tool == t.Name || tool == t.Plugin+"."+t.Spec.Name {
			var err error
			if schema, err = t.Spec.Input.Parse(); err != nil {
				return nil, cantStart(fmt.Errorf("tool %s: %w", tool, err))
			}
		}
	}
	values := make(map[string]any, len(pairs))
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usage("%q is not of the form key=value", pair)
		}
		if _, twice := values[name]; twice {
			return nil, usage("argument %q is given twice", name)
		}
		typed, err := typedValue(schema, name, value)
		if err != nil {
			return nil, err
		}
		values[name] = typed
	}
	return json.Marshal(values)
}

// typedValue reads a value as the schema has it. What the schema does not know stays a string, for the host to refuse.
func typedValue(s *jsonschema.Schema, name, value string) (any, error) {
	var property *jsonschema.Schema
	if s != nil {
		property = s.Properties[name]
	}
	if property == nil {
		return value, nil
	}
	for _, t := range append(property.Types, property.Type) {
		switch t {
		case "integer":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return nil, usage("argument %s=%s must be a whole number", name, value)
			}
			return n, nil
		case "number":
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, usage("argument %s=%s must be a number", name, value)
			}
			return n, nil
		case "boolean":
			b, err := strconv.ParseBool(value)
			if err != nil {
				return nil, usage("argument %s=%s must be true or false", name, value)
			}
			return b, nil
		case "array", "object":
			if !json.Valid([]byte(value)) {
				return nil, usage("argument %s must be a JSON %s", name, t)
			}
			return json.RawMessage(value), nil
		}
	}
	return value, nil
}
