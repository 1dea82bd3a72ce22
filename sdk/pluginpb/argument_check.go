package pluginpb

import (
	"fmt"
	"maps"
	"math"
	"reflect"
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

// describeValueError describes why a value, or a value nested in it, does not fit the schema. at is the path within the
// argument, such as [1].old_text. ok is false for uncommon errors.
func describeValueError(s *jsonschema.Schema, v any, at string) (said string, ok bool) {
	if s == nil {
		return "", false
	}
	if want, wrong := findTypeViolation(s, v); wrong {
		return pathSuffix(at) + " " + formatTypeMismatch(want, v), true
	}
	if want, wrong := findBoundsViolation(s, v); wrong {
		return fmt.Sprintf("%s must be %s, not %s", pathSuffix(at), want, formatShortValue(v)), true
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if said, ok := describeValueError(s.Items, item, fmt.Sprintf("%s[%d]", at, i)); ok {
				return said, true
			}
		}
	case map[string]any:
		return describeFirstMemberViolation(s, v, at)
	}
	return "", false
}

func describeFirstMemberViolation(s *jsonschema.Schema, object map[string]any, at string) (said string, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		property, known := s.Properties[name]
		switch {
		case known:
		case isFalseSchema(s.AdditionalProperties) && len(s.PatternProperties) == 0:
			names := slices.Sorted(maps.Keys(s.Properties))
			return fmt.Sprintf("%s: unknown name %s; it takes %s", pathSuffix(at), formatShortValue(name), strings.Join(names, ", ")), true
		default:
			property = s.AdditionalProperties
		}
		if said, ok := describeValueError(property, object[name], strings.TrimPrefix(at+"."+clipLongName(name), ".")); ok {
			return said, true
		}
	}
	for _, name := range s.Required {
		if _, has := object[name]; !has {
			return fmt.Sprintf("%s: %s is missing", pathSuffix(at), name), true
		}
	}
	return "", false
}

// pathSuffix returns ": " and a path within an argument, or "".
func pathSuffix(at string) string {
	if at == "" {
		return ""
	}
	return ": " + at
}

// clipLongName returns a name, shortened and quoted if it does not fit on a line.
func clipLongName(name string) string {
	if quoted := formatShortValue(name); len(quoted) != len(name)+2 {
		return quoted
	}
	return name
}

// formatTypeMismatch returns the message for a value of a wrong type.
func formatTypeMismatch(want string, v any) string {
	if f, ok := v.(float64); ok && strings.Contains(want, typeWithArticle("integer")) {
		switch {
		case f > maxExactInt:
			return fmt.Sprintf("is too large: a whole number is at most %d", maxExactInt)
		case f < -maxExactInt:
			return fmt.Sprintf("is too small: a whole number is at least %d", -maxExactInt)
		}
	}
	return fmt.Sprintf("must be %s, not %s", want, describeValueType(v, want))
}

// stripSchemaPath removes the path of schemas from a message of the schema library.
func stripSchemaPath(err error) string {
	said := err.Error()
	for {
		rest, ok := strings.CutPrefix(said, "validating ")
		if !ok {
			return said
		}
		_, after, ok := strings.Cut(rest, ": ")
		if !ok {
			return said
		}
		said = after
	}
}

// isFalseSchema reports whether a schema is "false", which no value fits.
func isFalseSchema(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && reflect.ValueOf(*s.Not).IsZero() &&
		reflect.DeepEqual(*s, jsonschema.Schema{Not: s.Not})
}
