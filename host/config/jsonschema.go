package config

import (
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// JSONSchema returns the JSON Schema (draft 2020-12) of the configuration file, for editors. It accepts every file that
// [Load] accepts, and some others: a schema can't check regular expressions or unique ids.
func JSONSchema() *jsonschema.Schema {
	s := jsonSchemaOfKey(keySchema().root)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "picoclaw configuration"
	return s
}

func jsonSchemaOfKey(e *keyNode) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	if e.key != nil {
		s.Description = e.key.Doc
		s.Default = encodeDefault(e.key.Default)
	}
	switch e.keyType() {
	case "":
		s.Type = "object"
		s.Properties = map[string]*jsonschema.Schema{}
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		for _, child := range e.children {
			addKeyProperty(s, child)
		}
	case MapType:
		s.Type = "object"
		s.PropertyNames = &jsonschema.Schema{Pattern: idSchema}
		if e.key.Format == VariableFormat {
			s.PropertyNames.Pattern = variablePattern().String()
		}
		s.AdditionalProperties = jsonSchemaOfKey(e.children[0])
	case ObjectsType:
		s.Type = "array"
		s.Items = jsonSchemaOfKey(e.children[0])
	case StringsType:
		s.Type = "array"
		s.Items = stringSchema(e.key)
	case IntsType:
		s.Type = "array"
		s.Items = &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(float64(e.key.Min)), Maximum: jsonschema.Ptr(float64(e.key.Max))}
	case StringType:
		typed := stringSchema(e.key)
		s.Type, s.Enum, s.Pattern, s.MinLength = typed.Type, typed.Enum, typed.Pattern, typed.MinLength
	case BoolType:
		s.Type = "boolean"
	case IntType:
		s.Type = "integer"
		if e.key.Min != 0 || e.key.Max != 0 {
			s.Minimum, s.Maximum = jsonschema.Ptr(float64(e.key.Min)), jsonschema.Ptr(float64(e.key.Max))
		}
	case NumberType:
		s.Type, s.Minimum = "number", jsonschema.Ptr(0.0)
		if e.key.Max != 0 {
			s.Maximum = jsonschema.Ptr(float64(e.key.Max))
		}
	case SizeType:
		s.Types = []string{"string", "integer"}
		s.Pattern = sizeJSONPattern
		s.Minimum = jsonschema.Ptr(max(1.0, float64(e.key.Min)))
		if e.key.Max != 0 {
			s.Maximum = jsonschema.Ptr(float64(e.key.Max))
		}
	case ListsType:
		s.Type = "object"
		s.AdditionalProperties = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}}
	case TextsType:
		s.Type = "object"
		s.AdditionalProperties = &jsonschema.Schema{Type: "string"}
	case FreeType:
		s.Type = "object"
	case RulesType:
		s.Type = "array"
		s.Items = &jsonschema.Schema{Type: "object", Required: []string{"id", "programs", "why"}}
	}
	return s
}

func addKeyProperty(s *jsonschema.Schema, e *keyNode) {
	property := jsonSchemaOfKey(e)
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

// stringSchema returns the schema of a string value, or of the strings in a list.
func stringSchema(key *KeySpec) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, value := range key.Values {
		s.Enum = append(s.Enum, value)
		if key.Format == LowerFormat {
			s.Enum = append(s.Enum, strings.ToUpper(value))
		}
	}
	switch key.Format {
	case IDFormat:
		s.Pattern = idSchema
	case VariableFormat:
		s.Pattern = variablePattern().String()
	case "", LowerFormat:
	default:
		s.MinLength = jsonschema.Ptr(1)
	}
	return s
}

// sizeJSONPattern is sizePattern in a form for JSON Schema, which has no flags.
const sizeJSONPattern = `^[0-9]+ ?([KkMmGgTt][Ii]?)?[Bb]?$`

func encodeDefault(value any) json.RawMessage {
	if value == nil {
		return nil
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return encoded
}
