package pluginpb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// jsonTypeSet is a set of JSON types.
type jsonTypeSet uint8

const (
	nullType jsonTypeSet = 1 << iota
	stringType
	booleanType
	wholeType    // numbers without a fraction
	fractionType // other numbers
	arrayType
	objectType

	numberTypes = wholeType | fractionType
	allTypes    = 1<<iota - 1
)

var typeSets = map[string]jsonTypeSet{
	"null": nullType, "string": stringType, "boolean": booleanType, "integer": wholeType, "number": numberTypes,
	"array": arrayType, "object": objectType,
}

func jsonTypeOf(v any) jsonTypeSet {
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

// conversionSchema is the part of a schema that is needed to convert arguments. A valid value always has one of its
// types; the full schema may be stricter.
type conversionSchema struct {
	types    jsonTypeSet
	fields   map[string]*conversionSchema
	required map[string]bool
	values   *conversionSchema // for names that are not fields; may be nil
	items    *conversionSchema // may be nil
	fallback []byte            // default as JSON; may be nil
}

// newConversionSchema extracts the conversion schema from a schema that [Schema.CheckValidationCost] accepts. root
// contains the definitions. It ignores keywords that only restrict a value further.
func newConversionSchema(root, s *jsonschema.Schema) *conversionSchema {
	out := &conversionSchema{types: allTypes, fields: map[string]*conversionSchema{}, required: map[string]bool{}}
	if s == nil {
		return out
	}
	out.fallback = s.Default
	if s.Ref != "" { // draft 7 ignores keywords beside it
		out.narrowTo(newConversionSchema(root, findDefinition(root, s.Ref)))
		return out
	}
	out.types = allowedTypes(s)
	for name, property := range s.Properties {
		out.fields[name] = newConversionSchema(root, property)
	}
	for _, name := range s.Required {
		out.required[name] = true
	}
	if s.AdditionalProperties != nil && len(s.PatternProperties) == 0 {
		out.values = newConversionSchema(root, s.AdditionalProperties)
	}
	if s.Items != nil && len(s.PrefixItems) == 0 {
		out.items = newConversionSchema(root, s.Items)
	}
	for _, one := range s.AllOf {
		out.narrowTo(newConversionSchema(root, one))
	}
	out.narrowTo(newAlternativesSchema(root, s.AnyOf))
	out.narrowTo(newAlternativesSchema(root, s.OneOf))
	return out
}

// narrowTo restricts the schema to values that other also allows.
func (p *conversionSchema) narrowTo(other *conversionSchema) {
	if other == nil {
		return
	}
	p.types &= other.types
	for name, field := range other.fields {
		if own := p.fields[name]; own != nil {
			own.narrowTo(field)
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

// newAlternativesSchema returns the conversion schema of a value that fits one of several schemas. It has fields only
// if a single alternative is not null.
func newAlternativesSchema(root *jsonschema.Schema, all []*jsonschema.Schema) *conversionSchema {
	if len(all) == 0 {
		return nil
	}
	var types jsonTypeSet
	var others []*conversionSchema
	for _, one := range all {
		alternative := newConversionSchema(root, one)
		types |= alternative.types
		if alternative.types != nullType {
			others = append(others, alternative)
		}
	}
	out := &conversionSchema{}
	if len(others) == 1 {
		out = others[0]
	}
	out.types = types
	return out
}

// allowedTypes returns the types that the keywords type, enum and const allow.
func allowedTypes(s *jsonschema.Schema) jsonTypeSet {
	types := jsonTypeSet(allTypes)
	names := schemaTypes(s)
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
	var known jsonTypeSet
	for _, v := range values {
		switch v.(type) {
		case nil, string, bool, []any, map[string]any:
			known |= jsonTypeOf(v)
		default:
			known |= numberTypes
		}
	}
	return types & known
}

// schemaTypes returns the names of the types that the keyword type allows; none without the keyword.
func schemaTypes(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

// findDefinition returns the schema at a reference such as #/$defs/name, or nil for other references.
func findDefinition(root *jsonschema.Schema, ref string) *jsonschema.Schema {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return root.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return root.Definitions[name]
	}
	return nil
}

// argumentConverter converts arguments that a model sent in another form than the schema requires.
type argumentConverter struct {
	notes []string
}

// convertValue converts a value to the form that the schema requires, if the schema allows only one interpretation: it
// drops an optional field that is null, unless the schema allows null. It sets the default of a required field that is
// missing or null. It replaces a string by the number, boolean, array or object that it contains as JSON, if the schema
// allows only that type.
//
// The value itself is not modified. name is the argument, and at the path within it, such as [1].n.
func (c *argumentConverter) convertValue(p *conversionSchema, v any, name, at string) any {
	switch v := v.(type) {
	case string:
		converted, ok := p.parseStringValue(v)
		if !ok {
			return v
		}
		c.noteConversion(v, converted, name, at)
		return c.convertValue(p, converted, name, at)
	case []any:
		if p.items == nil {
			return v
		}
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = c.convertValue(p.items, item, name, fmt.Sprintf("%s[%d]", at, i))
		}
		return out
	case map[string]any:
		out := p.completeFields(v)
		for _, key := range slices.Sorted(maps.Keys(out)) {
			field := cmp.Or(p.fields[key], p.values)
			switch {
			case field == nil:
			case name == "":
				out[key] = c.convertValue(field, out[key], key, "")
			default:
				out[key] = c.convertValue(field, out[key], name, strings.TrimPrefix(at+"."+clipLongName(key), "."))
			}
		}
		return out
	}
	return v
}

// completeFields returns a copy of an object without optional nulls, and with defaults for missing required fields.
func (p *conversionSchema) completeFields(object map[string]any) map[string]any {
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
		if v, err := decodeStrictJSON(field.fallback); err == nil && jsonTypeOf(v)&field.types != 0 {
			out[name] = v
		}
	}
	return out
}

// parseStringValue returns the value that a string contains as JSON, or as True or False. ok is false if the schema
// allows strings or values of several types.
func (p *conversionSchema) parseStringValue(text string) (v any, ok bool) {
	switch want := p.types &^ nullType; {
	case want == booleanType:
		if text == "True" || text == "False" {
			return text == "True", true
		}
	case want == arrayType, want == objectType, want != 0 && want&^numberTypes == 0:
	default:
		return nil, false
	}
	v, err := decodeStrictJSON([]byte(text))
	return v, err == nil && v != nil && jsonTypeOf(v)&p.types != 0
}

const (
	maxConversionNotes = 8  // further ones are only counted
	maxNotedText       = 40 // bytes of a text in a note
)

// noteConversion adds a note that a string was used as another value.
func (c *argumentConverter) noteConversion(text string, v any, name, at string) {
	if len(text) > maxNotedText {
		text = strings.ToValidUTF8(text[:maxNotedText], "") + "…"
	}
	used := fmt.Sprintf("JSON text was used as %s", describeValueType(v, ""))
	switch v.(type) {
	case bool, int64, float64:
		used = fmt.Sprintf("the string %q was used as %s", text, formatShortValue(v))
	}
	if name == "" {
		c.notes = append(c.notes, "the arguments: "+used)
		return
	}
	c.notes = append(c.notes, fmt.Sprintf("argument %q%s: %s", name, pathSuffix(at), used))
}

// conversionNotes returns the first notes and the number of further ones.
func (c *argumentConverter) conversionNotes() []string {
	if more := len(c.notes) - maxConversionNotes; more > 0 {
		return append(c.notes[:maxConversionNotes:maxConversionNotes], fmt.Sprintf("%d more values were converted", more))
	}
	return c.notes
}
