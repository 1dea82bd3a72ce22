package pluginpb

import (
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxShapeDepth is how deeply a shape looks. Schemas that go deeper are the validator's.
const maxShapeDepth = 4

// shape is what a schema asks for that has nothing but types, listed texts, bounds, items and members, as those of
// nearly all tools do. A value that has the shape fits the schema; of one that has not, the validator says what is
// wrong. It takes ten times as long, more than all else that is read of a small call.
type shape struct {
	types    []string
	texts    []string // those that are listed; nil for any
	min, max *float64
	items    *shape            // of a list's items; nil if they may be anything
	members  map[string]*shape // of an object; nil if it is none. One that is nil is the validator's
	required []string
}

// shapeOf returns the shape that a schema asks for, or nil if it asks for more.
func shapeOf(s *jsonschema.Schema, depth int) *shape {
	if s == nil || depth > maxShapeDepth {
		return nil
	}
	rest := *s
	rest.Title, rest.Description, rest.Comment, rest.Default, rest.Examples = "", "", "", nil, nil
	rest.Deprecated, rest.ReadOnly, rest.WriteOnly, rest.Extra, rest.PropertyOrder = false, false, false, nil, nil
	out := &shape{types: s.Types, min: s.Minimum, max: s.Maximum, required: s.Required}
	if s.Type != "" {
		out.types = []string{s.Type}
	}
	rest.Type, rest.Types, rest.Minimum, rest.Maximum, rest.Required = "", nil, nil, nil, nil
	for _, listed := range s.Enum {
		text, ok := listed.(string)
		if !ok {
			return nil
		}
		out.texts = append(out.texts, text)
	}
	rest.Enum = nil
	if s.Items != nil {
		if out.items = shapeOf(s.Items, depth+1); out.items == nil {
			return nil
		}
		rest.Items = nil
	}
	if isFalse(s.AdditionalProperties) {
		out.members = make(map[string]*shape, len(s.Properties))
		for name, property := range s.Properties {
			out.members[name] = shapeOf(property, depth+1)
		}
		rest.Properties, rest.AdditionalProperties = nil, nil
	}
	if len(out.types) == 0 || !reflect.ValueOf(rest).IsZero() {
		return nil
	}
	return out
}

// isFalse reports whether a schema is the one that nothing fits.
func isFalse(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && reflect.ValueOf(*s.Not).IsZero() &&
		reflect.DeepEqual(*s, jsonschema.Schema{Not: s.Not})
}

// has reports whether a value has the shape. A nil shape is one that no value is known to have.
func (s *shape) has(v any) bool {
	if s == nil || !s.hasType(v) {
		return false
	}
	switch v := v.(type) {
	case string:
		return s.texts == nil || slices.Contains(s.texts, v)
	case int64:
		return s.texts == nil && s.bounds(float64(v))
	case float64:
		return s.texts == nil && s.bounds(v)
	case []any:
		return s.texts == nil && s.hasItems(v)
	case map[string]any:
		return s.texts == nil && s.hasMembers(v)
	default:
		return s.texts == nil
	}
}

func (s *shape) hasType(v any) bool {
	for _, t := range s.types {
		if fits(t, v) {
			return true
		}
	}
	return false
}

func (s *shape) bounds(n float64) bool {
	return (s.min == nil || n >= *s.min) && (s.max == nil || n <= *s.max)
}

func (s *shape) hasItems(list []any) bool {
	if s.items == nil {
		return true
	}
	for _, item := range list {
		if !s.items.has(item) {
			return false
		}
	}
	return true
}

func (s *shape) hasMembers(object map[string]any) bool {
	if s.members == nil {
		return false
	}
	for _, name := range s.required {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	for name, v := range object {
		if !s.members[name].has(v) {
			return false
		}
	}
	return true
}
