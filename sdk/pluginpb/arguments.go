package pluginpb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// MaxArgumentBytes is the maximum size of one call's arguments as JSON.
const MaxArgumentBytes = 48 << 20

// Arguments are the parsed arguments of a call. All later code uses these values or bytes, so interpretations can't
// differ. Names are exact, unique and known. The bytes are generated from the values.
type Arguments struct {
	Values    map[string]any // string, bool, int64, float64, nil, []any and map[string]any
	Canonical []byte         // the same as JSON, keys sorted

	// Conversions describes each value that was converted, one per line, for example a number sent as a string.
	Conversions []string
}

// InvalidArgumentsError is the error for arguments that are not valid JSON, are too long, or don't fit the tool's
// schema.
type InvalidArgumentsError struct {
	Message string
	Unknown string   // unknown argument name, if that is the error
	Known   []string // known argument names, sorted
}

func (e *InvalidArgumentsError) Error() string { return e.Message }

// ArgumentParser parses and validates the arguments of one tool. It is safe for concurrent use.
type ArgumentParser struct {
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
	shape    func() *conversionSchema // conversion schema, created on first use
	known    []string
}

// NewArgumentReader returns a reader for a tool's input schema, which [Schema.CheckValidationCost] must accept.
func NewArgumentReader(input *jsonschema.Schema) (*ArgumentParser, error) {
	resolved, err := input.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the input schema is not usable: %w", err)
	}
	r := &ArgumentParser{schema: input, resolved: resolved, known: slices.Sorted(maps.Keys(input.Properties)),
		shape: sync.OnceValue(func() *conversionSchema { return newConversionSchema(input, input) })}
	return r, nil
}

// Read parses and validates JSON arguments. It converts values that don't fit the schema if only one interpretation is
// possible. Any error is an [*InvalidArgumentsError].
func (r *ArgumentParser) Read(raw []byte) (*Arguments, error) {
	if len(raw) > MaxArgumentBytes {
		return nil, &InvalidArgumentsError{Message: fmt.Sprintf("the arguments are %d bytes long; at most %d are taken", len(raw),
			MaxArgumentBytes)}
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	value, err := decodeStrictJSON(raw)
	if err != nil {
		return nil, err
	}
	if value == nil {
		value = map[string]any{}
	}
	return r.convertAndValidate(value, len(raw))
}

// ReadValues is Read for decoded arguments, for example from a command line.
func (r *ArgumentParser) ReadValues(values map[string]any) (*Arguments, error) {
	return r.convertAndValidate(values, 0)
}

// convertAndValidate validates a decoded value, after conversion if needed, and encodes it. size is the approximate
// size of its JSON text.
func (r *ArgumentParser) convertAndValidate(value any, size int) (*Arguments, error) {
	values, isObject := value.(map[string]any)
	var c argumentConverter
	if !isObject || r.validateValues(values) != nil {
		if values, isObject = c.convertValue(r.shape(), value, "", "").(map[string]any); !isObject {
			return nil, &InvalidArgumentsError{Message: "the arguments must be a JSON object, not " + describeValueType(value, "")}
		}
		if err := r.validateValues(values); err != nil {
			return nil, err
		}
	}
	var canonical bytes.Buffer
	canonical.Grow(size + size/3 + 64) // the encoder grows a buffer that has less than a quarter of its length free
	err := jsonv2.MarshalWrite(&canonical, values, jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, &InvalidArgumentsError{Message: fmt.Sprintf("the arguments can't be written as JSON: %v", err)}
	}
	return &Arguments{Values: values, Canonical: canonical.Bytes(), Conversions: c.conversionNotes()}, nil
}

// decodeStrictJSON decodes one JSON value strictly: valid UTF-8, unique names, nothing after it, and limited depth.
func decodeStrictJSON(raw []byte) (value any, err error) {
	var wrong error // an invalid number is reported only if the text is valid JSON
	numbers := jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
		if d.PeekKind() != '0' {
			return errors.ErrUnsupported
		}
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		n, err := parseNumber(token.String())
		if err != nil && wrong == nil {
			name, _, _ := strings.Cut(strings.TrimPrefix(string(d.StackPointer()), "/"), "/")
			wrong = &InvalidArgumentsError{Message: fmt.Sprintf("argument %q: %v", name, err)}
		}
		*v = n
		return nil
	})
	if err := jsonv2.Unmarshal(raw, &value, jsonv2.WithUnmarshalers(numbers)); err != nil {
		return nil, newSyntaxError(err)
	}
	return value, wrong
}

func newSyntaxError(err error) *InvalidArgumentsError {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(syntax.Err, jsontext.ErrDuplicateName) {
		name := strings.TrimPrefix(string(syntax.JSONPointer), "/")
		return &InvalidArgumentsError{Message: fmt.Sprintf("argument %q is given twice", name)}
	}
	if strings.Contains(err.Error(), "after top-level value") {
		return &InvalidArgumentsError{Message: "the arguments must be one JSON object; something follows it"}
	}
	return &InvalidArgumentsError{Message: "the arguments are not valid JSON: " + ExplainSyntaxError(err)}
}

// maxExactInt is the largest number up to which float64 represents every integer exactly.
const maxExactInt = 1 << 53

// parseNumber returns an int64 for a whole number, otherwise a float64.
func parseNumber(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("the number %s is out of range", text)
	}
	if f == float64(int64(f)) && f >= -maxExactInt && f <= maxExactInt {
		return int64(f), nil // 1.0 and 1e3 are whole numbers
	}
	return f, nil
}

// ExplainSyntaxError explains why a text is invalid JSON, and at which byte.
func ExplainSyntaxError(err error) string {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case ok:
		return fmt.Sprintf("%s, at byte %d", strings.TrimPrefix(syntax.Err.Error(), "jsontext: "), syntax.ByteOffset)
	case errors.Is(err, io.EOF):
		return "it ends too early"
	}
	return err.Error()
}
