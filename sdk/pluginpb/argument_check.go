package pluginpb

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// validateValues validates values against the schema. Common mistakes at the top level have plain messages. Other
// messages come from the schema library.
func (r *ArgumentParser) validateValues(values map[string]any) error {
	names := slices.Sorted(maps.Keys(values))
	for _, name := range names {
		property := r.schema.Properties[name]
		if property == nil {
			return &InvalidArgumentsError{
				Message: fmt.Sprintf("unknown argument %q", name),
				Unknown: name,
				Known:   r.known,
			}
		}
		if want, ok := findTypeViolation(property, values[name]); ok {
			return &InvalidArgumentsError{Message: fmt.Sprintf("argument %q %s", name, formatTypeMismatch(want, values[name]))}
		}
	}
	for _, name := range r.schema.Required {
		if _, ok := values[name]; !ok {
			return &InvalidArgumentsError{Message: fmt.Sprintf("argument %q is missing", name), Known: r.known}
		}
	}
	err := r.resolved.Validate(values)
	if err == nil {
		return nil
	}
	for _, name := range names {
		if said, ok := describeValueError(r.schema.Properties[name], values[name], ""); ok {
			return &InvalidArgumentsError{Message: fmt.Sprintf("argument %q%s", name, said)}
		}
	}
	return &InvalidArgumentsError{Message: "the arguments do not fit: " + stripSchemaPath(err)}
}

// findTypeViolation returns the allowed types if the type of a value is wrong. wrong is false if the type is allowed.
func findTypeViolation(s *jsonschema.Schema, v any) (want string, wrong bool) {
	types := schemaTypes(s)
	if len(types) == 0 {
		return "", false
	}
	var names []string
	for _, t := range types {
		if typeSets[t]&jsonTypeOf(v) != 0 {
			return "", false
		}
		names = append(names, typeWithArticle(t))
	}
	return strings.Join(names, " or "), true
}

// findBoundsViolation returns the expected values if a value is not in an enum or exceeds numeric limits. wrong is
// false if the value is allowed.
func findBoundsViolation(s *jsonschema.Schema, v any) (want string, wrong bool) {
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(known any) bool { return formatShortValue(known) == formatShortValue(v) }) {
		known := make([]string, len(s.Enum))
		for i, one := range s.Enum {
			known[i] = formatShortValue(one)
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

// formatShortValue formats a string or number for a message. It replaces a long string by "another text".
func formatShortValue(v any) string {
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

func describeValueType(v any, want string) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		if strings.Contains(want, typeWithArticle("integer")) {
			return formatShortValue(v)
		}
		return "a number"
	case []any:
		return "an array"
	}
	return "an object"
}

func typeWithArticle(t string) string {
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
