package config

import (
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// JSONSchema returns the JSON Schema (draft 2020-12) of the configuration file, for editors. It is made from the
// table of keys, and accepts every file that [Load] accepts. Load refuses more: a schema can't tell whether a regular
// expression compiles, or whether an id is there twice.
func JSONSchema() *jsonschema.Schema {
	s := schemaOf(schema().root)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "picoclaw configuration"
	return s
}

func schemaOf(e *entry) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	if e.key != nil {
		s.Description = e.key.Doc
		s.Default = defaultJSON(e.key.Default)
	}
	switch e.typ() {
	case "":
		s.Type = "object"
		s.Properties = map[string]*jsonschema.Schema{}
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		for _, child := range e.children {
			addProperty(s, child)
		}
	case Map:
		s.Type = "object"
		s.PropertyNames = &jsonschema.Schema{Pattern: idSchema}
		if e.key.Format == VariableName {
			s.PropertyNames.Pattern = variablePattern().String()
		}
		s.AdditionalProperties = schemaOf(e.children[0])
	case Objects:
		s.Type = "array"
		s.Items = schemaOf(e.children[0])
	case Strings:
		s.Type = "array"
		s.Items = stringSchema(e.key)
	case String:
		typed := stringSchema(e.key)
		s.Type, s.Enum, s.Pattern, s.MinLength = typed.Type, typed.Enum, typed.Pattern, typed.MinLength
	case Bool:
		s.Type = "boolean"
	case Int:
		s.Type = "integer"
		if e.key.Min != 0 || e.key.Max != 0 {
			s.Minimum, s.Maximum = jsonschema.Ptr(float64(e.key.Min)), jsonschema.Ptr(float64(e.key.Max))
		}
	case Number:
		s.Type, s.Minimum = "number", jsonschema.Ptr(0.0)
	case Size:
		s.Types = []string{"string", "integer"}
		s.Pattern = sizeJSONPattern
		s.Minimum = jsonschema.Ptr(max(1.0, float64(e.key.Min)))
		if e.key.Max != 0 {
			s.Maximum = jsonschema.Ptr(float64(e.key.Max))
		}
	case Lists:
		s.Type = "object"
		s.AdditionalProperties = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}}
	case Texts:
		s.Type = "object"
		s.AdditionalProperties = &jsonschema.Schema{Type: "string"}
	case Free:
		s.Type = "object"
	case Rules:
		s.Type = "array"
		s.Items = &jsonschema.Schema{Type: "object", Required: []string{"id", "programs", "why"}}
	}
	return s
}

// addProperty adds a known key, and its alias, to the schema of the object that may hold it.
func addProperty(s *jsonschema.Schema, e *entry) {
	property := schemaOf(e)
	s.Properties[e.name] = property
	s.PropertyOrder = append(s.PropertyOrder, e.name)
	if e.key == nil {
		return
	}
	if e.key.Alias != "" {
		s.Properties[e.key.Alias] = property
		s.PropertyOrder = append(s.PropertyOrder, e.key.Alias)
		s.Not = &jsonschema.Schema{Required: []string{e.name, e.key.Alias}}
	}
	if e.key.Required {
		s.Required = append(s.Required, e.name)
	}
}

// stringSchema returns the schema of a string, or of one string in a list.
func stringSchema(key *Key) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, value := range key.Values {
		s.Enum = append(s.Enum, value)
		if key.Format == Lower {
			s.Enum = append(s.Enum, strings.ToUpper(value))
		}
	}
	switch key.Format {
	case ID:
		s.Pattern = idSchema
	case VariableName:
		s.Pattern = variablePattern().String()
	case "", Lower:
	default:
		s.MinLength = jsonschema.Ptr(1)
	}
	return s
}

// sizeJSONPattern is sizePattern in the dialect of JSON Schema, which has no flag for either case.
const sizeJSONPattern = `^[0-9]+ ?([KkMmGgTt][Ii]?)?[Bb]?$`

// defaultJSON encodes a default. Strings, booleans, integers and lists of strings always encode.
func defaultJSON(value any) json.RawMessage {
	if value == nil {
		return nil
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return encoded
}
