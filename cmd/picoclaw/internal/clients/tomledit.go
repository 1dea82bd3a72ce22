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

// editTOML sets the settings of the table at a place. A table that is missing is added at the end.
func editTOML(text []byte, where []string, entry []entrySetting) ([]byte, error) {
	if err := toml.Unmarshal(text, &map[string]any{}); err != nil {
		return nil, fmt.Errorf("the file is not TOML: %w; %w", err, errNotEditable)
	}
	found, err := readTOML(text, where)
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
		b.WriteString("[" + tomlKey(where...) + "]" + newline)
		for _, s := range entry {
			b.WriteString(s.key + " = " + tomlValue(s.value) + newline)
		}
		out = append(out, b.String()...)
		return out, checkTOML(out, where, entry)
	}
	for _, s := range slices.Backward(entry) { // so that what is added stands in the order of the entry
		if _, ok := found.keys[s.key]; ok {
			continue
		}
		if _, ok := found.tables[s.key]; ok {
			return nil, fmt.Errorf("%s.%s is a table of its own; %w", strings.Join(where, "."), s.key, errNotEditable)
		}
		out = slices.Insert(out, found.header, []byte(newline+s.key+" = "+tomlValue(s.value))...)
	}
	// All keys stand below the header, and are set from the last to the first, so that their places stay right.
	shift := len(out) - len(text)
	for _, s := range byPlace(entry, found.keys) {
		place := found.keys[s.key]
		if sameTOML(text[place.from:place.to], s) {
			continue
		}
		out = slices.Replace(out, place.from+shift, place.to+shift, []byte(s.key+" = "+tomlValue(s.value))...)
	}
	return out, checkTOML(out, where, entry)
}

// byPlace returns the settings that are in the text, the last one first.
func byPlace(entry []entrySetting, keys map[string]span) []entrySetting {
	there := slices.DeleteFunc(slices.Clone(entry), func(s entrySetting) bool { _, ok := keys[s.key]; return !ok })
	slices.SortFunc(there, func(a, b entrySetting) int { return keys[b.key].from - keys[a.key].from })
	return there
}

// span is a part of a text.
type span struct{ from, to int }

// tomlTable is what was found of a table.
type tomlTable struct {
	there  bool
	header int                 // where the line of its header ends
	keys   map[string]span     // its own keys, with their values
	tables map[string]struct{} // the tables below it
}

// readTOML finds a table. The text is TOML.
func readTOML(text []byte, where []string) (*tomlTable, error) {
	found := &tomlTable{keys: map[string]span{}, tables: map[string]struct{}{}}
	var p unstable.Parser
	p.Reset(text)
	var current []string
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			current = tomlName(e)
			switch {
			case slices.Equal(current, where):
				if e.Kind == unstable.ArrayTable {
					return nil, fmt.Errorf("%s is a list of tables; %w", strings.Join(where, "."), errNotEditable)
				}
				found.there, found.header = true, lineEnd(text, firstKey(e))
			case len(current) > len(where) && slices.Equal(current[:len(where)], where):
				found.tables[current[len(where)]] = struct{}{}
			}
		case unstable.KeyValue:
			name := append(slices.Clone(current), tomlName(e)...)
			switch {
			case slices.Equal(current, where) && len(name) == len(where)+1:
				found.keys[name[len(where)]] = span{int(e.Raw.Offset), int(e.Raw.Offset + e.Raw.Length)}
			case slices.Equal(current, where):
				found.tables[name[len(where)]] = struct{}{}
			case len(current) <= len(where) && keysOverlap(name, where):
				return nil, fmt.Errorf("%s is not written as [%s]; %w", strings.Join(name, "."), tomlKey(where...), errNotEditable)
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

// keysOverlap reports whether one key contains the other.
func keysOverlap(name, where []string) bool {
	n := min(len(name), len(where))
	return slices.Equal(name[:n], where[:n])
}

// firstKey returns where the name of a table begins.
func firstKey(e *unstable.Node) int {
	keys := e.Key()
	keys.Next()
	return int(keys.Node().Raw.Offset)
}

// lineEnd returns where the line ends that an offset is in.
func lineEnd(text []byte, from int) int {
	n := bytes.IndexByte(text[from:], '\n')
	if n < 0 {
		return len(text)
	}
	if end := from + n; end > 0 && text[end-1] == '\r' {
		return end - 1
	}
	return from + n
}

func tomlName(e *unstable.Node) []string {
	var name []string
	for keys := e.Key(); keys.Next(); {
		name = append(name, string(keys.Node().Data))
	}
	return name
}

// tomlKey writes a dotted key.
func tomlKey(parts ...string) string {
	written := make([]string, 0, len(parts))
	for _, part := range parts {
		bare := part != "" && strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
		if !bare {
			part = tomlString(part)
		}
		written = append(written, part)
	}
	return strings.Join(written, ".")
}

// tomlString writes a basic string, which has the escapes of JSON.
func tomlString(s string) string {
	text, err := marshal(s)
	if err != nil {
		return strconv.Quote(s)
	}
	return strings.ReplaceAll(text, "\x7f", `\u007f`)
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return tomlString(v)
	case bool:
		return strconv.FormatBool(v)
	case []string:
		items := make([]string, 0, len(v))
		for _, item := range v {
			items = append(items, tomlString(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]string:
		var items []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			items = append(items, tomlKey(key)+" = "+tomlString(v[key]))
		}
		return "{ " + strings.Join(items, ", ") + " }"
	}
	return `""` // there are no other values
}

// sameTOML reports whether a line sets what is wanted, however it is written.
func sameTOML(line []byte, s entrySetting) bool {
	var have, want map[string]any
	return toml.Unmarshal(line, &have) == nil && toml.Unmarshal([]byte(s.key+" = "+tomlValue(s.value)), &want) == nil &&
		fmt.Sprint(have) == fmt.Sprint(want)
}

// checkTOML makes sure that what was written is read as it was meant.
func checkTOML(text []byte, where []string, entry []entrySetting) error {
	var all map[string]any
	err := toml.Unmarshal(text, &all)
	table := all
	for _, name := range where {
		table, _ = table[name].(map[string]any) // nil, and then nothing is the same
	}
	for _, s := range entry {
		var want map[string]any
		if err == nil {
			err = toml.Unmarshal([]byte(s.key+" = "+tomlValue(s.value)), &want)
		}
		if err == nil && fmt.Sprint(table[s.key]) != fmt.Sprint(want[s.key]) {
			err = fmt.Errorf("%s would not be read back", s.key)
		}
	}
	if err != nil {
		return fmt.Errorf("the file can't be edited: %w; %w", err, errNotEditable)
	}
	return nil
}
