package pluginpb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// typeSet is a set of JSON types.
type typeSet uint8

const (
	nullType typeSet = 1 << iota
	stringType
	booleanType
	wholeType    // numbers without a fraction
	fractionType // other numbers
	arrayType
	objectType

	numberTypes = wholeType | fractionType
	allTypes    = 1<<iota - 1
)

var typeSets = map[string]typeSet{
	"null": nullType, "string": stringType, "boolean": booleanType, "integer": wholeType, "number": numberTypes,
	"array": arrayType, "object": objectType,
}

func typeOf(v any) typeSet {
	switch v.(type) {
	case nil:
		return nullType
	case string:
		return stringType
	case bool:
		return booleanType
	case int64:
		return wholeType
	case float64:
		return fractionType
	case []any:
		return arrayType
	}
	return objectType
}

// shape is the part of a schema that conversions need. A valid value always has one of the types; the schema may be
// stricter than its shape.
type shape struct {
	types    typeSet
	fields   map[string]*shape
	required map[string]bool
	values   *shape // of names that are not fields; may be nil
	items    *shape // may be nil
	fallback []byte // default as JSON; may be nil
}

// newShape returns the shape of a schema that [Schema.CheckBounds] accepts, within the root that has its definitions.
// It ignores keywords that only restrict a value further.
func newShape(root, s *jsonschema.Schema) *shape {
	out := &shape{types: allTypes, fields: map[string]*shape{}, required: map[string]bool{}}
	if s == nil {
		return out
	}
	out.fallback = s.Default
	if s.Ref != "" { // draft 7 ignores keywords beside it
		out.merge(newShape(root, definition(root, s.Ref)))
		return out
	}
	out.types = schemaTypes(s)
	for name, property := range s.Properties {
		out.fields[name] = newShape(root, property)
	}
	for _, name := range s.Required {
		out.required[name] = true
	}
	if s.AdditionalProperties != nil && len(s.PatternProperties) == 0 {
		out.values = newShape(root, s.AdditionalProperties)
	}
	if s.Items != nil && len(s.PrefixItems) == 0 {
		out.items = newShape(root, s.Items)
	}
	for _, one := range s.AllOf {
		out.merge(newShape(root, one))
	}
	out.merge(alternativeShape(root, s.AnyOf))
	out.merge(alternativeShape(root, s.OneOf))
	return out
}

// merge narrows a shape to the values that other allows too.
func (p *shape) merge(other *shape) {
	if other == nil {
		return
	}
	p.types &= other.types
	for name, field := range other.fields {
		if own := p.fields[name]; own != nil {
			own.merge(field)
		} else {
			p.fields[name] = field
		}
	}
	maps.Copy(p.required, other.required)
	p.values, p.items = cmp.Or(p.values, other.values), cmp.Or(p.items, other.items)
	if p.fallback == nil {
		p.fallback = other.fallback
	}
}

// alternativeShape returns the shape of a value that fits one of several schemas: that of the only one that is not for
// null, or just the types of all.
func alternativeShape(root *jsonschema.Schema, all []*jsonschema.Schema) *shape {
	if len(all) == 0 {
		return nil
	}
	var types typeSet
	var others []*shape
	for _, one := range all {
		alternative := newShape(root, one)
		types |= alternative.types
		if alternative.types != nullType {
			others = append(others, alternative)
		}
	}
	out := &shape{}
	if len(others) == 1 {
		out = others[0]
	}
	out.types = types
	return out
}

// schemaTypes returns the types that the keywords type, enum and const allow.
func schemaTypes(s *jsonschema.Schema) typeSet {
	types := typeSet(allTypes)
	names := s.Types
	if s.Type != "" {
		names = []string{s.Type}
	}
	if len(names) > 0 {
		types = 0
	}
	for _, name := range names {
		types |= typeSets[name]
	}
	values := s.Enum
	if s.Const != nil {
		values = []any{*s.Const}
	}
	if values == nil {
		return types
	}
	var known typeSet
	for _, v := range values {
		switch v.(type) {
		case nil, string, bool, []any, map[string]any:
			known |= typeOf(v)
		default:
			known |= numberTypes
		}
	}
	return types & known
}

// definition returns the schema at a reference such as #/$defs/name; nil if it is elsewhere.
func definition(root *jsonschema.Schema, ref string) *jsonschema.Schema {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return root.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return root.Definitions[name]
	}
	return nil
}

// converter changes arguments that models send in another form than the schema asks for.
type converter struct {
	notes []string
}

// convert returns a value in the form that the schema asks for, where the schema leaves no doubt about it:
//   - an optional field that is null is dropped, if the schema does not allow null
//   - a required field that is missing, or null as above, gets its default
//   - a string becomes the number, boolean, array or object that it holds as JSON, if the schema allows only that type
//
// The value itself is not changed. name is the argument's, and at the place in it, such as [1].n.
func (c *converter) convert(p *shape, v any, name, at string) any {
	switch v := v.(type) {
	case string:
		converted, ok := p.parseText(v)
		if !ok {
			return v
		}
		c.note(v, converted, name, at)
		return c.convert(p, converted, name, at)
	case []any:
		if p.items == nil {
			return v
		}
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = c.convert(p.items, item, name, fmt.Sprintf("%s[%d]", at, i))
		}
		return out
	case map[string]any:
		out := p.completeFields(v)
		for _, key := range slices.Sorted(maps.Keys(out)) {
			field := cmp.Or(p.fields[key], p.values)
			switch {
			case field == nil:
			case name == "":
				out[key] = c.convert(field, out[key], key, "")
			default:
				out[key] = c.convert(field, out[key], name, strings.TrimPrefix(at+"."+clipName(key), "."))
			}
		}
		return out
	}
	return v
}

// completeFields returns a copy of an object without optional nulls, and with defaults of missing required fields.
func (p *shape) completeFields(object map[string]any) map[string]any {
	out := maps.Clone(object)
	for name, field := range p.fields {
		if v, has := out[name]; has && (v != nil || field.types&nullType != 0) {
			continue
		}
		if !p.required[name] {
			delete(out, name)
			continue
		}
		if field.fallback == nil {
			continue
		}
		if v, err := decodeValue(field.fallback); err == nil && typeOf(v)&field.types != 0 {
			out[name] = v
		}
	}
	return out
}

// parseText returns the value that a string holds as JSON, or as True or False. ok is false if the schema allows
// strings, or values of several types.
func (p *shape) parseText(text string) (v any, ok bool) {
	switch want := p.types &^ nullType; {
	case want == booleanType:
		if text == "True" || text == "False" {
			return text == "True", true
		}
	case want == arrayType, want == objectType, want != 0 && want&^numberTypes == 0:
	default:
		return nil, false
	}
	v, err := decodeValue([]byte(text))
	return v, err == nil && v != nil && typeOf(v)&p.types != 0
}

const (
	maxConversionNotes = 8  // further ones are only counted
	maxNotedText       = 40 // bytes of a text in a note
)

// note notes that a string was used as another value.
func (c *converter) note(text string, v any, name, at string) {
	if len(text) > maxNotedText {
		text = strings.ToValidUTF8(text[:maxNotedText], "") + "…"
	}
	used := fmt.Sprintf("JSON text was used as %s", valueName(v, ""))
	switch v.(type) {
	case bool, int64, float64:
		used = fmt.Sprintf("the string %q was used as %s", text, shortValue(v))
	}
	if name == "" {
		c.notes = append(c.notes, "the arguments: "+used)
		return
	}
	c.notes = append(c.notes, fmt.Sprintf("argument %q%s: %s", name, pathSuffix(at), used))
}

// conversions returns the first notes, and the number of the others.
func (c *converter) conversions() []string {
	if more := len(c.notes) - maxConversionNotes; more > 0 {
		return append(c.notes[:maxConversionNotes:maxConversionNotes], fmt.Sprintf("%d more values were converted", more))
	}
	return c.notes
}
