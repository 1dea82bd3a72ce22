package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// utf8BOM is the byte order mark with which some editors begin a file.
var utf8BOM = []byte("\ufeff")

// setJSONFields sets the fields of the object at a key, in JSON with or without comments.
func setJSONFields(text []byte, where []string, entry []entryField) ([]byte, error) {
	return editJSONBody(text, func(body []byte) (_ []byte, err error) {
		for _, s := range entry {
			if body, err = setJSONValue(body, append(append([]string{}, where...), s.key), s.value); err != nil {
				return nil, err
			}
		}
		return body, nil
	})
}

// editJSONBody edits a text without its byte order mark. The edit receives an empty object in place of an empty text.
func editJSONBody(text []byte, edit func(body []byte) ([]byte, error)) ([]byte, error) {
	body, marked := bytes.CutPrefix(text, utf8BOM)
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}\n")
	}
	body, err := edit(body)
	if err == nil && marked {
		body = append(bytes.Clone(utf8BOM), body...)
	}
	return body, err
}

// setJSONValue sets one value, and creates the objects around it that are missing.
func setJSONValue(text []byte, where []string, value any) ([]byte, error) {
	root, err := parseJSONC(text)
	if err != nil {
		return nil, err
	}
	at, found, err := findValue(&root, where)
	if err != nil {
		return nil, err
	}
	e := jsonEditor{text: text, root: &root}
	if found < len(where) {
		return e.insertMember(at, at.Value.(*hujson.Object), where[found], wrapInObjects(where[found+1:], value))
	}
	if isSameValue(at, value) {
		return text, nil
	}
	return e.replaceRange(at.StartOffset, at.EndOffset, e.formatValue(value, e.lineIndent(at.StartOffset))), nil
}

// parseJSONC parses JSON with comments, followed by a line end: a comment in the last line needs it to be complete.
func parseJSONC(text []byte) (root hujson.Value, err error) {
	if err = checkNestingDepth(text); err != nil {
		return root, err
	}
	if root, err = hujson.Parse(append(text[:len(text):len(text)], '\n')); err != nil {
		err = fmt.Errorf("the file is not JSON: %s; %w", strings.TrimPrefix(err.Error(), "hujson: "), errNotEditable)
	}
	return root, err
}

// checkNestingDepth refuses text nested too deeply for the recursive parser.
func checkNestingDepth(text []byte) error {
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

// describeKey returns a key with dots for an error message; the empty key is the file's content.
func describeKey(where []string) string {
	if len(where) == 0 {
		return "the file's content"
	}
	return strings.Join(where, ".")
}

// findValue returns the value at a key and the number of its names; if one is missing, the object that lacks it and the
// number of names before. A name that occurs twice is an error. The names of list elements are their indexes.
func findValue(root *hujson.Value, where []string) (at *hujson.Value, found int, err error) {
	at = root
	for i, name := range where {
		var next *hujson.Value
		switch v := at.Value.(type) {
		case *hujson.Object:
			for j := range v.Members {
				m := &v.Members[j]
				if m.Name.Value.(hujson.Literal).String() != name {
					continue
				}
				if next != nil {
					return nil, 0, fmt.Errorf("%q is twice in %s; %w", name, describeKey(where[:i]), errNotEditable)
				}
				next = &m.Value
			}
			if next == nil {
				return at, i, nil
			}
		case *hujson.Array:
			if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < len(v.Elements) {
				next = &v.Elements[n]
			}
		}
		if next == nil {
			return nil, 0, fmt.Errorf("%s is not an object; %w", describeKey(where[:i]), errNotEditable)
		}
		at = next
	}
	return at, len(where), nil
}

// wrapInObjects wraps a value in an object for each name, the last name innermost.
func wrapInObjects(names []string, value any) any {
	for i := len(names) - 1; i >= 0; i-- {
		value = map[string]any{names[i]: value}
	}
	return value
}

// isSameValue reports whether JSON with comments has the same value as a Go value.
func isSameValue(at *hujson.Value, value any) bool {
	clone := at.Clone()
	clone.Standardize()
	var have, want any
	wanted, err := json.Marshal(value)
	if err != nil || json.Unmarshal(wanted, &want) != nil || json.Unmarshal(clone.Pack(), &have) != nil {
		return false
	}
	return reflect.DeepEqual(have, want)
}

// keyIndex matches the index of a list element in a key, such as [0] in agents.list[0].tools.
var keyIndex = lazyregexp.New(`\[(\d+)\]`)

// PlanListAppend plans to append values to a list in picoclaw's configuration or another JSON file with comments, except
// those already in it. The key is dotted, such as agents.list[0].tools.exec.custom_allow_patterns.
func PlanListAppend(path, key string, values ...any) (*FileChange, error) {
	change, err := newFileChange(path)
	if err != nil {
		return nil, err
	}
	where := strings.Split(keyIndex().ReplaceAllString(key, ".$1"), ".")
	if change.after, err = appendToJSONList(change.before, where, values); err != nil {
		return nil, fmt.Errorf("%s: %w", change.Path, err)
	}
	return change, nil
}

// appendToJSONList returns the text of a file with values appended to the list at a key, except those already in it.
func appendToJSONList(text []byte, where []string, values []any) ([]byte, error) {
	if len(text) > maxSettingsBytes {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxSettingsBytes)
	}
	return editJSONBody(text, func(body []byte) ([]byte, error) {
		root, err := parseJSONC(body)
		if err != nil {
			return nil, err
		}
		list, found, err := findValue(&root, where)
		if err != nil {
			return nil, err
		}
		if found < len(where) || isSameValue(list, nil) {
			return setJSONValue(body, where, values)
		}
		array, ok := list.Value.(*hujson.Array)
		if !ok {
			return nil, fmt.Errorf("%s is not a list; %w", describeKey(where), errNotEditable)
		}
		for _, value := range values {
			if slices.ContainsFunc(array.Elements, func(e hujson.Value) bool { return isSameValue(&e, value) }) {
				continue
			}
			patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/" + strings.Join(where, "/") + "/-", "value": value}})
			if err = errors.Join(err, root.Patch(patch)); err != nil {
				return nil, fmt.Errorf("%w; %w", err, errNotEditable)
			}
		}
		packed := root.Pack()
		return packed[:len(packed)-1], nil // without the line end that was added
	})
}
