package pluginpb

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// validate validates values against the schema. Common mistakes at the top level have plain messages; others have the
// schema library's.
func (r *ArgumentReader) validate(values map[string]any) error {
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
		if want, ok := checkType(property, values[name]); ok {
			return &ArgumentError{Message: fmt.Sprintf("argument %q %s", name, typeMismatch(want, values[name]))}
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
		if said, ok := describeFault(r.schema.Properties[name], values[name], ""); ok {
			return &ArgumentError{Message: fmt.Sprintf("argument %q%s", name, said)}
		}
	}
	return &ArgumentError{Message: "the arguments do not fit: " + stripSchemaPath(err)}
}

// checkType reports whether a value has a type the schema does not allow, and the allowed ones.
func checkType(s *jsonschema.Schema, v any) (want string, wrong bool) {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if len(types) == 0 {
		return "", false
	}
	var names []string
	for _, t := range types {
		if hasType(t, v) {
			return "", false
		}
		names = append(names, withArticle(t))
	}
	return strings.Join(names, " or "), true
}

// checkBounds reports whether a value is not in an enum, or is outside numeric limits, and the expected value.
func checkBounds(s *jsonschema.Schema, v any) (want string, wrong bool) {
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(known any) bool { return shortValue(known) == shortValue(v) }) {
		known := make([]string, len(s.Enum))
		for i, one := range s.Enum {
			known[i] = shortValue(one)
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
		bounds = append(bounds, "at least "+formatDecimal(*s.Minimum))
		wrong = n < *s.Minimum
	}
	if s.Maximum != nil {
		bounds = append(bounds, "at most "+formatDecimal(*s.Maximum))
		wrong = wrong || n > *s.Maximum
	}
	return strings.Join(bounds, " and "), wrong
}

// shortValue returns a string or number as JSON, unless too long.
func shortValue(v any) string {
	text, ok := v.(string)
	switch {
	case ok && len(text) > 100:
		return "another text"
	case ok:
		return strconv.Quote(text)
	}
	if f, ok := v.(float64); ok && math.Abs(f) < 1e15 {
		return formatDecimal(f)
	}
	return fmt.Sprint(v)
}

func hasType(t string, v any) bool {
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

// valueName describes a value for a type error.
func valueName(v any, want string) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		if strings.Contains(want, withArticle("integer")) {
			return shortValue(v)
		}
		return "a number"
	case []any:
		return "an array"
	}
	return "an object"
}

func withArticle(t string) string {
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

func formatDecimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
