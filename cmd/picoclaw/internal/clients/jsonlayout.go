package clients

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonEditor edits JSON text at offsets found by the parser, in the indentation of the text.
type jsonEditor struct {
	text []byte
	root *hujson.Value
}

// replaceRange returns the text with a range of bytes replaced.
func (e *jsonEditor) replaceRange(from, to int, with string) []byte {
	return slices.Concat(e.text[:from], []byte(with), e.text[to:])
}

// insertMember adds a member at the end of an object.
func (e *jsonEditor) insertMember(at *hujson.Value, object *hujson.Object, name string, value any) ([]byte, error) {
	key, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	closing := at.EndOffset - 1 // the brace
	outer := e.lineIndent(at.StartOffset)
	if len(object.Members) == 0 {
		inside := e.text[at.StartOffset+1 : closing]
		kept := strings.TrimRight(string(inside), " \t\r\n")
		indent := outer + e.indentUnit()
		member := e.lineEnding() + indent + string(key) + ": " + e.formatValue(value, indent) + e.lineEnding() + outer
		return e.replaceRange(at.StartOffset+1, closing, kept+member), nil
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
		indent := e.lineIndent(first)
		kept += e.lineEnding() + indent + string(key) + ": " + e.formatValue(value, indent)
		if !strings.Contains(after, "\n") {
			after = e.lineEnding() + outer
		}
	} else {
		compact, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		separator := " "
		if strings.Contains(kept, "//") {
			separator = e.lineEnding() // it may be a comment that lasts to the end of its line
		}
		kept += separator + string(key) + ": " + string(compact)
	}
	if trailing {
		kept += ","
	}
	return e.replaceRange(last.EndOffset, closing, before+kept+after), nil
}

// lineIndent returns the indentation of the line at an offset.
func (e *jsonEditor) lineIndent(offset int) string {
	line := e.text[bytes.LastIndexByte(e.text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// indentUnit returns the indentation of one level: that of the first member, or two spaces.
func (e *jsonEditor) indentUnit() string {
	if object, ok := e.root.Value.(*hujson.Object); ok && len(object.Members) > 0 {
		if indent := e.lineIndent(object.Members[0].Name.StartOffset); indent != "" {
			return indent
		}
	}
	return "  "
}

// lineEnding returns the line ending of the text.
func (e *jsonEditor) lineEnding() string {
	if bytes.Contains(e.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// marshalUnescaped returns a value as JSON. It does not escape <, > and &.
func marshalUnescaped(value any) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// formatValue returns a value as JSON in the indentation of the text. Lists stay on one line.
func (e *jsonEditor) formatValue(value any, indent string) string {
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
			items = append(items, e.formatValue(item, indent))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	if !ok {
		text, err := marshalUnescaped(value)
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
		name, _ := marshalUnescaped(key)
		b.WriteString(e.lineEnding() + indent + e.indentUnit() + name + ": " + e.formatValue(object[key], indent+e.indentUnit()))
	}
	return b.String() + e.lineEnding() + indent + "}"
}
