package windows

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// SplitCmdLine splits a cmd.exe line into simple commands. Switches become separate arguments, because cmd accepts
// "del/f/q". Variables become unknown marks.
func SplitCmdLine(line string) [][]string {
	var out [][]string
	var argv []string
	var word strings.Builder
	quoted, started := false, false
	end := func() {
		if started {
			argv = append(argv, word.String())
		}
		word.Reset()
		started = false
	}
	finish := func() {
		if end(); len(argv) > 0 {
			out = append(out, splitNestedCommands(argv, 0)...)
		}
		argv = nil
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '"':
			quoted, started = !quoted, true
		case c == '%' || c == '!' && strings.Count(line, "!") > 1:
			if n := strings.IndexByte(line[i+1:], c); n > 0 && !strings.ContainsAny(line[i+1:i+1+n], " \t/&|") {
				word.WriteString(shell.Unknown)
				i += n + 1
			} else {
				word.WriteByte(c)
			}
			started = true
		case quoted:
			word.WriteByte(c)
		case c == '^' && i+1 < len(line):
			if i++; line[i] != '\n' {
				word.WriteByte(line[i])
				started = true
			}
		case c == '&' || c == '|' || c == '\n' || c == '\r':
			finish()
		case c == ' ' || c == '\t' || c == ',' || c == ';' || c == '(' || c == ')' || c == '@' && !started:
			end()
		case c == '>' || c == '<':
			end()
			argv = append(argv, string(c))
		case c == '/' && started && !strings.ContainsAny(word.String(), `\:.`) && len(argv) == 0:
			end()
			word.WriteByte(c)
			started = true
		default:
			word.WriteByte(c)
			started = true
		}
	}
	finish()
	return out
}

// maxNesting is the maximum number of commands that start one another with words such as call.
const maxNesting = 16

// splitNestedCommands returns a simple command, and the commands that it starts with words such as call or do.
func splitNestedCommands(argv []string, depth int) [][]string {
	if depth > maxNesting {
		return [][]string{{shell.Unknown}}
	}
	out := [][]string{splitJoinedSwitches(argv)}
	for i, word := range argv {
		switch strings.ToLower(word) {
		case "in":
			if i > 0 && i+2 < len(argv) && strings.EqualFold(argv[0], "for") {
				inner := strings.Trim(strings.Join(argv[i+1:], " "), "'`")
				inner, _, _ = strings.Cut(strings.ReplaceAll(inner, "`", "'"), "'")
				out = append(out, SplitCmdLine(inner)...)
			}
		case "do", "else", "call":
			return append(out, startedCommands(argv[i+1:], depth+1)...)
		case "start", "wsl":
			rest := argv[i+1:]
			for len(rest) > 0 && (rest[0] == "" || strings.ContainsAny(rest[0][:1], "/-") || len(rest) > 1 && isWindowTitle(argv[0],
				rest)) {
				rest = rest[1:]
			}
			return append(out, startedCommands(rest, depth+1)...)
		case "if":
			for j := i + 1; j < len(argv); j++ {
				if IsWindowsCommand(strings.ToLower(argv[j])) {
					return append(out, splitJoinedSwitches(argv[j:]))
				}
			}
			return out
		}
	}
	return out
}

// splitJoinedSwitches splits arguments such as "/f/q" into single switches.
func splitJoinedSwitches(argv []string) []string {
	var out []string
	for _, word := range argv {
		if strings.HasPrefix(word, "/") && strings.Count(word, "/") > 1 && !strings.ContainsAny(word, `.\`) {
			for _, s := range strings.Split(word[1:], "/") {
				out = append(out, "/"+s)
			}
			continue
		}
		out = append(out, word)
	}
	return out
}

// startedCommands returns the commands in argv, which follows a word such as call. It returns none for an empty argv.
func startedCommands(argv []string, depth int) [][]string {
	if len(argv) == 0 {
		return nil
	}
	return splitNestedCommands(argv, depth)
}

// isWindowTitle reports whether the first argument of start is a window title.
func isWindowTitle(starter string, rest []string) bool {
	return strings.EqualFold(starter, "start") && !IsWindowsCommand(strings.ToLower(rest[0])) &&
		(strings.HasPrefix(rest[1], "/") || IsWindowsCommand(strings.ToLower(rest[1])))
}
