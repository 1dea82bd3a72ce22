package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// bom is the mark that some editors begin a file with.
var bom = []byte("\ufeff")

// editJSON sets the settings of the object at a place, in JSON with or without comments.
func editJSON(text []byte, where []string, entry []entrySetting) ([]byte, error) {
	body, marked := bytes.CutPrefix(text, bom)
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}\n")
	}
	for _, s := range entry {
		var err error
		if body, err = setJSON(body, append(append([]string{}, where...), s.key), s.value); err != nil {
			return nil, err
		}
	}
	if marked {
		return append(append([]byte{}, bom...), body...), nil
	}
	return body, nil
}

// setJSON sets one value, and makes the objects that it is in if need be.
func setJSON(text []byte, where []string, value any) ([]byte, error) {
	if err := checkNesting(text); err != nil {
		return nil, err
	}
	// A comment in the last line needs a line end for hujson to see it as complete.
	root, err := hujson.Parse(append(text[:len(text):len(text)], '\n'))
	if err != nil {
		return nil, fmt.Errorf("the file is not JSON: %s; %w", strings.TrimPrefix(err.Error(), "hujson: "), errNotEditable)
	}
	at := &root
	for i, name := range where {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s is not an object; %w", orRoot(where[:i]), errNotEditable)
		}
		next, err := memberOf(object, name, where[:i])
		if err != nil {
			return nil, err
		}
		if next == nil {
			e := jsonEditor{text: text, root: &root}
			return e.insert(at, object, name, nestValue(where[i+1:], value))
		}
		at = next
	}
	if isSameValue(at, value) {
		return text, nil
	}
	e := jsonEditor{text: text, root: &root}
	return e.splice(at.StartOffset, at.EndOffset, e.format(value, e.indentAt(at.StartOffset))), nil
}

// checkNesting refuses text nested too deeply for the recursive parser.
func checkNesting(text []byte) error {
	const most = 10_000
	if bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) < most {
		return nil
	}
	depth := 0
	for _, b := range text {
		switch b {
		case '{', '[':
			if depth++; depth > most {
				return fmt.Errorf("the file is nested too deeply; %w", errNotEditable)
			}
		case '}', ']':
			depth = max(depth-1, 0)
		}
	}
	return nil
}

func orRoot(where []string) string {
	if len(where) == 0 {
		return "the file's content"
	}
	return strings.Join(where, ".")
}

func memberOf(object *hujson.Object, name string, where []string) (*hujson.Value, error) {
	var found *hujson.Value
	for i := range object.Members {
		m := &object.Members[i]
		if m.Name.Value.(hujson.Literal).String() != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%q is twice in %s; %w", name, orRoot(where), errNotEditable)
		}
		found = &m.Value
	}
	return found, nil
}

// nestValue wraps a value in an object for each name, the last one innermost.
func nestValue(names []string, value any) any {
	for i := len(names) - 1; i >= 0; i-- {
		value = map[string]any{names[i]: value}
	}
	return value
}

// isSameValue reports whether a value is already set, in any notation.
func isSameValue(at *hujson.Value, value any) bool {
	clone := at.Clone()
	clone.Standardize()
	var have, want any
	wanted, err := json.Marshal(value)
	if err != nil || json.Unmarshal(wanted, &want) != nil || json.Unmarshal(clone.Pack(), &have) != nil {
		return false
	}
	a, errA := json.Marshal(have)
	b, errB := json.Marshal(want)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
