package pluginpb

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// describeFault describes in plain words the error of a value, or of a nested one at a path such as [1].old_text. ok is
// false for uncommon errors.
func describeFault(s *jsonschema.Schema, v any, at string) (said string, ok bool) {
	if s == nil {
		return "", false
	}
	if want, wrong := checkType(s, v); wrong {
		return pathSuffix(at) + " " + typeMismatch(want, v), true
	}
	if want, wrong := checkBounds(s, v); wrong {
		return fmt.Sprintf("%s must be %s, not %s", pathSuffix(at), want, shortValue(v)), true
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if said, ok := describeFault(s.Items, item, fmt.Sprintf("%s[%d]", at, i)); ok {
				return said, true
			}
		}
	case map[string]any:
		return memberFault(s, v, at)
	}
	return "", false
}

// memberFault is describeFault for the members of an object.
func memberFault(s *jsonschema.Schema, object map[string]any, at string) (said string, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		property, known := s.Properties[name]
		switch {
		case known:
		case isFalse(s.AdditionalProperties) && len(s.PatternProperties) == 0:
			names := slices.Sorted(maps.Keys(s.Properties))
			return fmt.Sprintf("%s: unknown name %s; it takes %s", pathSuffix(at), shortValue(name), strings.Join(names, ", ")), true
		default:
			property = s.AdditionalProperties
		}
		if said, ok := describeFault(property, object[name], strings.TrimPrefix(at+"."+clipName(name), ".")); ok {
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

// pathSuffix returns the text between an argument's name and a nested error.
func pathSuffix(at string) string {
	if at == "" {
		return ""
	}
	return ": " + at
}

// clipName shortens a name to one line.
func clipName(name string) string {
	if quoted := shortValue(name); len(quoted) != len(name)+2 {
		return quoted
	}
	return name
}

// typeMismatch says that a value has a wrong type.
func typeMismatch(want string, v any) string {
	if f, ok := v.(float64); ok && strings.Contains(want, withArticle("integer")) {
		switch {
		case f > maxExactInt:
			return fmt.Sprintf("is too large: a whole number is at most %d", maxExactInt)
		case f < -maxExactInt:
			return fmt.Sprintf("is too small: a whole number is at least %d", -maxExactInt)
		}
	}
	return fmt.Sprintf("must be %s, not %s", want, valueName(v, want))
}

// stripSchemaPath removes schema names from a message of the schema library.
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

// isFalse reports whether a schema is the one that nothing fits.
func isFalse(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && reflect.ValueOf(*s.Not).IsZero() &&
		reflect.DeepEqual(*s, jsonschema.Schema{Not: s.Not})
}
