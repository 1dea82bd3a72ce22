package clients

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// setTOMLFields sets the fields of the table at a key. It appends the table if it is missing.
func setTOMLFields(text []byte, where []string, entry []entryField) ([]byte, error) {
	if err := toml.Unmarshal(text, &map[string]any{}); err != nil {
		return nil, fmt.Errorf("the file is not TOML: %w; %w", err, errNotEditable)
	}
	found, err := findTOMLTable(text, where)
	if err != nil {
		return nil, err
	}
	newline := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		newline = "\r\n"
	}
	out := slices.Clone(text)
	if !found.there {
		var b strings.Builder
		if len(out) > 0 {
			if out[len(out)-1] != '\n' {
				b.WriteString(newline)
			}
			b.WriteString(newline)
		}
		b.WriteString("[" + formatTOMLKey(where...) + "]" + newline)
		for _, s := range entry {
			b.WriteString(s.key + " = " + formatTOMLValue(s.value) + newline)
		}
		out = append(out, b.String()...)
		return out, verifyTOMLFields(out, where, entry)
	}
	for _, s := range slices.Backward(entry) { // so that what is added stands in the order of the entry
		if _, ok := found.keys[s.key]; ok {
			continue
		}
		if _, ok := found.tables[s.key]; ok {
			return nil, fmt.Errorf("%s.%s is a table of its own; %w", strings.Join(where, "."), s.key, errNotEditable)
		}
		out = slices.Insert(out, found.header, []byte(newline+s.key+" = "+formatTOMLValue(s.value))...)
	}
	// All keys stand below the header, and are set from the last to the first, so that their places stay right.
	shift := len(out) - len(text)
	for _, s := range existingFieldsLastFirst(entry, found.keys) {
		place := found.keys[s.key]
		if setsSameTOMLValue(text[place.from:place.to], s) {
			continue
		}
		out = slices.Replace(out, place.from+shift, place.to+shift, []byte(s.key+" = "+formatTOMLValue(s.value))...)
	}
	return out, verifyTOMLFields(out, where, entry)
}

// existingFieldsLastFirst returns the fields that the text has, the last one in the text first.
func existingFieldsLastFirst(entry []entryField, keys map[string]textRange) []entryField {
	there := slices.DeleteFunc(slices.Clone(entry), func(s entryField) bool { _, ok := keys[s.key]; return !ok })
	slices.SortFunc(there, func(a, b entryField) int { return keys[b.key].from - keys[a.key].from })
	return there
}

// textRange is a range of bytes in a text.
type textRange struct{ from, to int }

// tomlTable describes a table that the parser found in a text.
type tomlTable struct {
	there  bool
	header int                  // where the line of its header ends
	keys   map[string]textRange // its own keys, with their values
	tables map[string]struct{}  // the tables below it
}

// findTOMLTable finds the table at a key. It returns an error if it is not written as [key].
func findTOMLTable(text []byte, where []string) (*tomlTable, error) {
	found := &tomlTable{keys: map[string]textRange{}, tables: map[string]struct{}{}}
	var p unstable.Parser
	p.Reset(text)
	var current []string
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			current = nodeKeyParts(e)
			switch {
			case slices.Equal(current, where):
				if e.Kind == unstable.ArrayTable {
					return nil, fmt.Errorf("%s is a list of tables; %w", strings.Join(where, "."), errNotEditable)
				}
				found.there, found.header = true, lineEndOffset(text, tableNameOffset(e))
			case len(current) > len(where) && slices.Equal(current[:len(where)], where):
				found.tables[current[len(where)]] = struct{}{}
			}
		case unstable.KeyValue:
			name := append(slices.Clone(current), nodeKeyParts(e)...)
			switch {
			case slices.Equal(current, where) && len(name) == len(where)+1:
				found.keys[name[len(where)]] = textRange{int(e.Raw.Offset), int(e.Raw.Offset + e.Raw.Length)}
			case slices.Equal(current, where):
				found.tables[name[len(where)]] = struct{}{}
			case len(current) <= len(where) && isPrefixOfOther(name, where):
				return nil, fmt.Errorf("%s is not written as [%s]; %w", strings.Join(name, "."), formatTOMLKey(where...), errNotEditable)
			}
		}
	}
	if err := p.Error(); err != nil {
		return nil, fmt.Errorf("the file is not TOML: %w; %w", err, errNotEditable)
	}
	if !found.there && len(found.tables) > 0 {
		return nil, fmt.Errorf("%s has tables below it and none of its own; %w", strings.Join(where, "."), errNotEditable)
	}
	return found, nil
}

// isPrefixOfOther reports whether one of two keys is a prefix of the other.
func isPrefixOfOther(name, where []string) bool {
	n := min(len(name), len(where))
	return slices.Equal(name[:n], where[:n])
}

// tableNameOffset returns the offset of the name in a table's header.
func tableNameOffset(e *unstable.Node) int {
	keys := e.Key()
	keys.Next()
	return int(keys.Node().Raw.Offset)
}

// lineEndOffset returns the offset at which the line around an offset ends.
func lineEndOffset(text []byte, from int) int {
	n := bytes.IndexByte(text[from:], '\n')
	if n < 0 {
		return len(text)
	}
	if end := from + n; end > 0 && text[end-1] == '\r' {
		return end - 1
	}
	return from + n
}

// nodeKeyParts returns the parts of a node's dotted key.
func nodeKeyParts(e *unstable.Node) []string {
	var name []string
	for keys := e.Key(); keys.Next(); {
		name = append(name, string(keys.Node().Data))
	}
	return name
}

// formatTOMLKey returns a dotted key, with quotes where they are needed.
func formatTOMLKey(parts ...string) string {
	written := make([]string, 0, len(parts))
	for _, part := range parts {
		bare := part != "" && strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
		if !bare {
			part = formatTOMLString(part)
		}
		written = append(written, part)
	}
	return strings.Join(written, ".")
}

// formatTOMLString returns s as a TOML basic string, escaped as in JSON.
func formatTOMLString(s string) string {
	text, err := marshalUnescaped(s)
	if err != nil {
		return strconv.Quote(s)
	}
	return strings.ReplaceAll(text, "\x7f", `\u007f`)
}

func formatTOMLValue(v any) string {
	switch v := v.(type) {
	case string:
		return formatTOMLString(v)
	case bool:
		return strconv.FormatBool(v)
	case []string:
		items := make([]string, 0, len(v))
		for _, item := range v {
			items = append(items, formatTOMLString(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]string:
		var items []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			items = append(items, formatTOMLKey(key)+" = "+formatTOMLString(v[key]))
		}
		return "{ " + strings.Join(items, ", ") + " }"
	}
	return `""` // there are no other values
}

// setsSameTOMLValue reports whether a line of TOML sets a field to its value, in any notation.
func setsSameTOMLValue(line []byte, s entryField) bool {
	var have, want map[string]any
	return toml.Unmarshal(line, &have) == nil && toml.Unmarshal([]byte(s.key+" = "+formatTOMLValue(s.value)), &want) == nil &&
		fmt.Sprint(have) == fmt.Sprint(want)
}

// verifyTOMLFields parses the edited text and returns an error if it does not have the fields.
func verifyTOMLFields(text []byte, where []string, entry []entryField) error {
	var all map[string]any
	err := toml.Unmarshal(text, &all)
	table := all
	for _, name := range where {
		table, _ = table[name].(map[string]any) // nil, and then nothing is the same
	}
	for _, s := range entry {
		var want map[string]any
		if err == nil {
			err = toml.Unmarshal([]byte(s.key+" = "+formatTOMLValue(s.value)), &want)
		}
		if err == nil && fmt.Sprint(table[s.key]) != fmt.Sprint(want[s.key]) {
			err = fmt.Errorf("%s would not have the intended value", s.key)
		}
	}
	if err != nil {
		return fmt.Errorf("the file can't be edited: %w; %w", err, errNotEditable)
	}
	return nil
}
