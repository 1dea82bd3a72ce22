package lang

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// scriptPair are texts by names, as JSON has them.
var scriptPair = pattern.New(`"([\w:.-]+)"\s*:\s*"((?:[^"\\]|\\.)*)"`)

// pieces says what scripts do that stand in parts of a description, such as the lines that another program puts into it.
func pieces(code string, names []string) (out []Effect) {
	for _, m := range scriptPair.FindAllStringSubmatch(strings.ReplaceAll(code, `\"`, `"`)) {
		if slices.Contains(names, m[1]) {
			out = append(out, Effect{Kind: Shell, Text: m[2]})
		}
	}
	return out
}

// Scripts says what scripts of a package of npm do, by their names.
func Scripts(code string, names []string) []Effect {
	var described struct{ Scripts map[string]string }
	if json.Unmarshal([]byte(code), &described) != nil {
		return pieces(code, names) // npm can't read it either, unless it is a part of what is there
	}
	var out []Effect
	for _, name := range names {
		if script := described.Scripts[name]; script != "" {
			out = append(out, Effect{Kind: Shell, Text: script})
		}
	}
	return out
}
