package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
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
	at := &root
	for i, name := range where {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s is not an object; %w", describeKey(where[:i]), errNotEditable)
		}
		next, err := findMember(object, name, where[:i])
		if err != nil {
			return nil, err
		}
		if next == nil {
			e := jsonEditor{text: text, root: &root}
			return e.insertMember(at, object, name, wrapInObjects(where[i+1:], value))
		}
		at = next
	}
	if isSameValue(at, value) {
		return text, nil
	}
	e := jsonEditor{text: text, root: &root}
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

// findMember returns the value of an object's member; nil if there is none. A name that occurs twice is an error.
func findMember(object *hujson.Object, name string, where []string) (*hujson.Value, error) {
	var found *hujson.Value
	for i := range object.Members {
		m := &object.Members[i]
		if m.Name.Value.(hujson.Literal).String() != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%q is twice in %s; %w", name, describeKey(where), errNotEditable)
		}
		found = &m.Value
	}
	return found, nil
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

// PlanListAppend plans to append a string to a list in picoclaw's configuration or another JSON file with comments.
// The key is dotted, such as agents.list[0].tools.exec.custom_allow_patterns.
func PlanListAppend(path, key, element string) (*FileChange, error) {
	change, err := newFileChange(path)
	if err != nil {
		return nil, err
	}
	if change.after, err = appendListElement(change.before, key, element); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return change, nil
}

// appendListElement returns the text of a file with a string appended to the list at key.
func appendListElement(text []byte, key, element string) ([]byte, error) {
	where := strings.Split(keyIndex().ReplaceAllString(key, ".$1"), ".")
	if len(text) > 0 {
		root, err := parseJSONC(text)
		if err != nil {
			return nil, err
		}
		list := root.Find("/" + strings.Join(where, "/"))
		if list != nil {
			if _, is := list.Value.(*hujson.Array); !is {
				return nil, fmt.Errorf("%s is not a list; %w", key, errNotEditable)
			}
			patch, err := json.Marshal([]map[string]string{
				{"op": "add", "path": "/" + strings.Join(where, "/") + "/-", "value": element}})
			if err != nil {
				return nil, err
			}
			if err := root.Patch(patch); err != nil {
				return nil, fmt.Errorf("%w; %w", err, errNotEditable)
			}
			packed := root.Pack()
			return packed[:len(packed)-1], nil // without the line end that was added
		}
	}
	last := len(where) - 1
	return setJSONFields(text, where[:last], []entryField{{where[last], []string{element}}})
}
