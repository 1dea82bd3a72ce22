package lang

import "encoding/json"

// Scripts says what scripts of a package of npm do, by their names.
func Scripts(code string, names []string) []Effect {
	var described struct{ Scripts map[string]string }
	if json.Unmarshal([]byte(code), &described) != nil {
		return nil // npm can't read it either
	}
	var out []Effect
	for _, name := range names {
		if script := described.Scripts[name]; script != "" {
			out = append(out, Effect{Kind: Shell, Text: script})
		}
	}
	return out
}
