package pluginpb

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// check validates values against the schema. What agents get wrong most, names, types and bounds at the top, is said in
// plain words; the rest in the schema library's.
func (r *ArgumentReader) check(values map[string]any) error {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		property := r.schema.Properties[name]
		if property == nil {
			return &ArgumentError{
				Message: fmt.Sprintf("unknown argument %q", name),
				Unknown: name,
				Known:   r.known,
			}
		}
		if want, ok := wrongType(property, values[name]); ok {
			return &ArgumentError{Message: fmt.Sprintf("argument %q %s", name, mismatch(want, values[name]))}
		}
	}
	for _, name := range r.schema.Required {
		if _, ok := values[name]; !ok {
			return &ArgumentError{Message: fmt.Sprintf("argument %q is missing", name), Known: r.known}
		}
	}
	err := r.resolved.Validate(values)
	if err == nil {
		return nil
	}
	for _, name := range names {
		if said, ok := fault(r.schema.Properties[name], values[name], ""); ok {
			return &ArgumentError{Message: fmt.Sprintf("argument %q%s", name, said)}
		}
	}
	return &ArgumentError{Message: "the arguments do not fit: " + inWords(err)}
}

// wrongType reports whether a value is not of the types that its schema names, and which those are.
func wrongType(s *jsonschema.Schema, v any) (want string, wrong bool) {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if len(types) == 0 {
		return "", false
	}
	var names []string
	for _, t := range types {
		if fits(t, v) {
			return "", false
		}
		names = append(names, article(t))
	}
	return strings.Join(names, " or "), true
}

// outOfBounds reports whether a value is none of those that its schema lists, or too small or too large a number, and
// what it should be.
func outOfBounds(s *jsonschema.Schema, v any) (want string, wrong bool) {
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(known any) bool { return plain(known) == plain(v) }) {
		known := make([]string, len(s.Enum))
		for i, one := range s.Enum {
			known[i] = plain(one)
		}
		return "one of " + strings.Join(known, ", "), true
	}
	var n float64
	switch v := v.(type) {
	case int64:
		n = float64(v)
	case float64:
		n = v
	default:
		return "", false
	}
	var bounds []string
	if s.Minimum != nil {
		bounds = append(bounds, "at least "+decimal(*s.Minimum))
		wrong = n < *s.Minimum
	}
	if s.Maximum != nil {
		bounds = append(bounds, "at most "+decimal(*s.Maximum))
		wrong = wrong || n > *s.Maximum
	}
	return strings.Join(bounds, " and "), wrong
}

// plain is a string or number as it stands in JSON, if it is not too long to be repeated.
func plain(v any) string {
	text, ok := v.(string)
	switch {
	case ok && len(text) > 100:
		return "another text"
	case ok:
		return strconv.Quote(text)
	}
	if f, ok := v.(float64); ok && math.Abs(f) < 1e15 {
		return decimal(f)
	}
	return fmt.Sprint(v)
}

func fits(t string, v any) bool {
	switch v.(type) {
	case nil:
		return t == "null"
	case string:
		return t == "string"
	case bool:
		return t == "boolean"
	case int64:
		return t == "integer" || t == "number"
	case float64:
		return t == "number"
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	}
	return false
}

// valueName says what a value is, where something else is wanted: of a number that is not whole, which.
func valueName(v any, want string) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		if strings.Contains(want, article("integer")) {
			return plain(v)
		}
		return "a number"
	case []any:
		return "an array"
	}
	return "an object"
}

func article(t string) string {
	switch t {
	case "null":
		return t
	case "integer":
		return "a whole number"
	case "array", "object":
		return "an " + t
	}
	return "a " + t
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
