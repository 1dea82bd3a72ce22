package pluginpb

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// fault says in plain words what is wrong with a value, or with something in it, which is at the end of a path such as
// [1].old_text. It knows what nearly all schemas are made of; ok is false for what is wrong in another way.
func fault(s *jsonschema.Schema, v any, at string) (said string, ok bool) {
	if s == nil {
		return "", false
	}
	if want, wrong := wrongType(s, v); wrong {
		return of(at) + " " + mismatch(want, v), true
	}
	if want, wrong := outOfBounds(s, v); wrong {
		return fmt.Sprintf("%s must be %s, not %s", of(at), want, plain(v)), true
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if said, ok := fault(s.Items, item, fmt.Sprintf("%s[%d]", at, i)); ok {
				return said, true
			}
		}
	case map[string]any:
		return memberFault(s, v, at)
	}
	return "", false
}

// memberFault is fault for what is in an object.
func memberFault(s *jsonschema.Schema, object map[string]any, at string) (said string, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		property, known := s.Properties[name]
		switch {
		case known:
		case isFalse(s.AdditionalProperties) && len(s.PatternProperties) == 0:
			names := slices.Sorted(maps.Keys(s.Properties))
			return fmt.Sprintf("%s: unknown name %s; it takes %s", of(at), plain(name), strings.Join(names, ", ")), true
		default:
			property = s.AdditionalProperties
		}
		if said, ok := fault(property, object[name], strings.TrimPrefix(at+"."+clipped(name), ".")); ok {
			return said, true
		}
	}
	for _, name := range s.Required {
		if _, has := object[name]; !has {
			return fmt.Sprintf("%s: %s is missing", of(at), name), true
		}
	}
	return "", false
}

// of goes between an argument's name and what is said of something in it.
func of(at string) string {
	if at == "" {
		return ""
	}
	return ": " + at
}

// clipped is a name that is not too long to be repeated, and on one line.
func clipped(name string) string {
	if quoted := plain(name); len(quoted) != len(name)+2 {
		return quoted
	}
	return name
}

// mismatch says that a value is of another type than it should be.
func mismatch(want string, v any) string {
	if f, ok := v.(float64); ok && strings.Contains(want, article("integer")) {
		switch {
		case f > largestWhole:
			return fmt.Sprintf("is too large: a whole number is at most %d", largestWhole)
		case f < -largestWhole:
			return fmt.Sprintf("is too small: a whole number is at least %d", -largestWhole)
		}
	}
	return fmt.Sprintf("must be %s, not %s", want, valueName(v, want))
}

// inWords is a message of the schema library's without the names of the schemas on the way to what is wrong.
func inWords(err error) string {
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
