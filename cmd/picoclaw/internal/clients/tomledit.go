package clients

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// setTOMLFields sets the fields of the table at a key, and appends the table if it is missing. It edits lines, and returns
// an error unless the result has these fields and is otherwise equal.
func setTOMLFields(text []byte, where []string, entry []entryField) ([]byte, error) {
	var before, want, after map[string]any
	if err := errors.Join(toml.Unmarshal(text, &before), toml.Unmarshal(text, &want)); err != nil {
		return nil, fmt.Errorf("the file is not TOML: %w; %w", err, errNotEditable)
	}
	if want == nil {
		want = map[string]any{}
	}
	header := "[" + strings.Join(where, ".") + "]"
	refused := fmt.Errorf("%s is not written as %s, or not in lines of one field each; %w", strings.Join(where, "."), header, errNotEditable)
	table := want
	for _, name := range where {
		if table[name] == nil {
			table[name] = map[string]any{}
		}
		inner, ok := table[name].(map[string]any)
		if !ok {
			return nil, refused
		}
		table = inner
	}
	newline := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		newline = "\r\n"
	}
	lines := strings.SplitAfter(string(text), "\n")
	at := slices.IndexFunc(lines, regexp.MustCompile(`^\s*\[\s*"?`+strings.Join(where, `"?\s*\.\s*"?`)+`"?\s*\]`).MatchString)
	if at < 0 {
		if last := len(lines) - 1; lines[last] != "" {
			lines[last] += newline
		}
		if len(text) > 0 {
			lines = append(lines, newline)
		}
		at = len(lines)
		lines = append(lines, header+newline)
	}
	for _, field := range entry {
		var line bytes.Buffer
		var parsed map[string]any
		err := toml.NewEncoder(&line).SetTablesInline(true).Encode(map[string]any{field.key: field.value})
		if err = errors.Join(err, toml.Unmarshal(line.Bytes(), &parsed)); err != nil {
			return nil, err
		}
		had := table[field.key]
		if reflect.DeepEqual(had, parsed[field.key]) {
			continue
		}
		table[field.key] = parsed[field.key]
		_, value, _ := strings.Cut(strings.TrimSuffix(line.String(), "\n"), " = ")
		if had == nil {
			lines = slices.Insert(lines, at+1, field.key+" = "+value+newline)
			at++
			continue
		}
		old := regexp.MustCompile(`^(\s*` + field.key + `\s*=\s*)("[^"]*"|'[^']*'|\[[^\]\n]*\]|\{[^}\n]*\})`)
		for i := at + 1; i < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i]), "["); i++ {
			if found := old.FindStringSubmatchIndex(lines[i]); found != nil {
				lines[i] = lines[i][:found[3]] + value + lines[i][found[5]:]
			}
		}
	}
	out := []byte(strings.Join(lines, ""))
	if toml.Unmarshal(out, &after) != nil || !reflect.DeepEqual(want, after) {
		return nil, refused
	}
	if reflect.DeepEqual(before, after) {
		return text, nil
	}
	return out, nil
}
