package pluginpb

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

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
