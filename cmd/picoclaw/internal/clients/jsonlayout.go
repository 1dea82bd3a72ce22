package clients

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonEditor changes a text at places that the parser has found, in the layout that the text has.
type jsonEditor struct {
	text []byte
	root *hujson.Value
}

func (e *jsonEditor) splice(from, to int, with string) []byte {
	out := make([]byte, 0, len(e.text)+len(with))
	out = append(append(out, e.text[:from]...), with...)
	return append(out, e.text[to:]...)
}

// insert adds a member at the end of an object.
func (e *jsonEditor) insert(at *hujson.Value, object *hujson.Object, name string, value any) ([]byte, error) {
	key, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	closing := at.EndOffset - 1 // the brace
	outer := e.indentAt(at.StartOffset)
	if len(object.Members) == 0 {
		inside := e.text[at.StartOffset+1 : closing]
		kept := strings.TrimRight(string(inside), " \t\r\n")
		indent := outer + e.unit()
		member := e.newline() + indent + string(key) + ": " + e.format(value, indent) + e.newline() + outer
		return e.splice(at.StartOffset+1, closing, kept+member), nil
	}
	last := object.Members[len(object.Members)-1].Value
	comma := last.EndOffset + len(last.AfterExtra) // where one is, if the object ends with one
	trailing := comma < closing && e.text[comma] == ','

	tail := string(e.text[last.EndOffset:closing])
	kept := strings.TrimRight(tail, " \t\r\n")
	first := object.Members[0].Name.StartOffset
	before := ""
	if !trailing {
		before = ","
	}
	after := tail[len(kept):]
	if bytes.ContainsRune(e.text[at.StartOffset:first], '\n') {
		indent := e.indentAt(first)
		kept += e.newline() + indent + string(key) + ": " + e.format(value, indent)
		if !strings.Contains(after, "\n") {
			after = e.newline() + outer
		}
	} else {
		compact, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		separator := " "
		if strings.Contains(kept, "//") {
			separator = e.newline() // it may be a comment that lasts to the end of its line
		}
		kept += separator + string(key) + ": " + string(compact)
	}
	if trailing {
		kept += ","
	}
	return e.splice(last.EndOffset, closing, before+kept+after), nil
}

// indentAt returns the white space that begins the line of an offset.
func (e *jsonEditor) indentAt(offset int) string {
	line := e.text[bytes.LastIndexByte(e.text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit returns by how much the text is indented at each level: as its first member is.
func (e *jsonEditor) unit() string {
	if object, ok := e.root.Value.(*hujson.Object); ok && len(object.Members) > 0 {
		if indent := e.indentAt(object.Members[0].Name.StartOffset); indent != "" {
			return indent
		}
	}
	return "  "
}

func (e *jsonEditor) newline() string {
	if bytes.Contains(e.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// marshal writes a value as people write JSON, without escapes for HTML.
func marshal(value any) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// format writes a value in the layout of the text, its first line where the text goes on. Lists are kept on one line.
func (e *jsonEditor) format(value any, indent string) string {
	object, ok := value.(map[string]any)
	if env, isEnv := value.(map[string]string); isEnv {
		object, ok = make(map[string]any, len(env)), true
		for key, v := range env {
			object[key] = v
		}
	}
	if list, isList := value.([]string); isList {
		items := make([]string, 0, len(list))
		for _, item := range list {
			items = append(items, e.format(item, indent))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	if !ok {
		text, err := marshal(value)
		if err != nil {
			return "null" // strings, booleans and lists of strings can always be written
		}
		return text
	}
	var b strings.Builder
	b.WriteString("{")
	for i, key := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			b.WriteString(",")
		}
		name, _ := marshal(key)
		b.WriteString(e.newline() + indent + e.unit() + name + ": " + e.format(object[key], indent+e.unit()))
	}
	return b.String() + e.newline() + indent + "}"
}
