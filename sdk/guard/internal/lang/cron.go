package lang

import "strings"

// Cron says which commands a table of cron runs.
func Cron(code string) []Effect {
	var out []Effect
	for _, line := range strings.Split(code, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") || strings.Contains(fields[0], "=") {
			continue
		}
		skip := 5
		if strings.HasPrefix(fields[0], "@") {
			skip = 1
		}
		if len(fields) > skip {
			out = append(out, Effect{Kind: Shell, Text: strings.Join(fields[skip:], " ")})
		}
	}
	return out
}
