package pluginpb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// MaxArgumentBytes is the largest JSON text of one call's arguments.
const MaxArgumentBytes = 48 << 20

// Arguments are one call's arguments, read once. Everybody behind the reader works with these values or these bytes,
// so nobody can read the same text differently: keys are exact, unique and known to the schema, and the bytes are
// written anew from the values.
type Arguments struct {
	Values    map[string]any // string, bool, int64, float64, nil, []any and map[string]any
	Canonical []byte         // the same as JSON, keys sorted
}

// ArgumentError says what is wrong with a call's arguments.
type ArgumentError struct {
	Message string
	Unknown string   // the name that the tool does not know, if that is what is wrong
	Known   []string // the names that it knows, sorted
}

func (e *ArgumentError) Error() string { return e.Message }

// ArgumentReader reads the arguments of one tool. It may be used concurrently.
type ArgumentReader struct {
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
	known    []string
}

// NewArgumentReader prepares the input schema of a tool.
func NewArgumentReader(input *jsonschema.Schema) (*ArgumentReader, error) {
	resolved, err := input.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the input schema is not usable: %w", err)
	}
	r := &ArgumentReader{schema: input, resolved: resolved}
	for name := range input.Properties {
		r.known = append(r.known, name)
	}
	slices.Sort(r.known)
	return r, nil
}

// Read reads arguments. Any error is an [*ArgumentError].
func (r *ArgumentReader) Read(raw []byte) (*Arguments, error) {
	if len(raw) > MaxArgumentBytes {
		return nil, &ArgumentError{Message: fmt.Sprintf("the arguments are %d bytes long; at most %d are taken", len(raw), MaxArgumentBytes)}
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	values, err := decodeObject(raw)
	if err != nil {
		return nil, err
	}
	return r.Check(values)
}

// Check validates arguments that are values already, such as a command line's, and writes them as JSON.
func (r *ArgumentReader) Check(values map[string]any) (*Arguments, error) {
	if err := r.check(values); err != nil {
		return nil, err
	}
	canonical, err := json.Marshal(values)
	if err != nil {
		return nil, &ArgumentError{Message: fmt.Sprintf("the arguments can't be written as JSON: %v", err)}
	}
	return &Arguments{Values: values, Canonical: canonical}, nil
}

// decodeObject reads one JSON object strictly: valid UTF-8, no name twice, nothing behind it, bounded depth.
func decodeObject(raw []byte) (map[string]any, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	value, err := d.ReadValue()
	value = value.Clone() // the decoder reuses its buffer
	if err == nil {
		_, err = d.ReadToken()
		if err == nil {
			return nil, &ArgumentError{Message: "the arguments must be one JSON object; something follows it"}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return nil, syntaxError(err)
	}
	if value.Kind() != '{' {
		return nil, &ArgumentError{Message: fmt.Sprintf("the arguments must be a JSON object, not %s", kindName(value.Kind()))}
	}
	std := json.NewDecoder(bytes.NewReader(value))
	std.UseNumber()
	var values map[string]any
	if err := std.Decode(&values); err != nil {
		return nil, &ArgumentError{Message: fmt.Sprintf("the arguments are not valid JSON: %v", err)}
	}
	for name, v := range values {
		if values[name], err = number(v); err != nil {
			return nil, &ArgumentError{Message: fmt.Sprintf("argument %q: %v", name, err)}
		}
	}
	return values, nil
}

func syntaxError(err error) *ArgumentError {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		if errors.Is(syntax.Err, jsontext.ErrDuplicateName) {
			name := strings.TrimPrefix(string(syntax.JSONPointer), "/")
			return &ArgumentError{Message: fmt.Sprintf("argument %q is given twice", name)}
		}
		return &ArgumentError{Message: fmt.Sprintf("the arguments are not valid JSON: %v at byte %d", syntax.Err, syntax.ByteOffset)}
	}
	return &ArgumentError{Message: fmt.Sprintf("the arguments are not valid JSON: %v", err)}
}

// number replaces every json.Number below v by an int64 where it is a whole one, else by a float64.
func number(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %s is out of range", v)
		}
		if f == float64(int64(f)) && f >= -(1<<53) && f <= 1<<53 {
			return int64(f), nil // 1.0 and 1e3 are whole numbers
		}
		return f, nil
	case []any:
		for i := range v {
			var err error
			if v[i], err = number(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			var err error
			if v[name], err = number(v[name]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
