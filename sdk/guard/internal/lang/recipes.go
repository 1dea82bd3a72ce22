package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	ninjaCommand = pattern.New(`(?m)^\s*command\s*=\s*(.+)$`)
	ninjaSets    = pattern.New(`(?m)^(\w+)[ \t]*=[ \t]*(.*)$`)
	procLine     = pattern.New(`(?m)^[\w-]+:[ \t]*(\S.*)$`)
	toxCommands  = pattern.New(`(?m)^(?:commands|commands_pre|commands_post|list_dependencies_command)\s*=[ \t]*(.*(?:\n(?:[ \t]+.*|[ \t]*$))*)`)
	taskRuns     = pattern.New(`\b(?:c|ctx|context|session|s|conn|connection)\.(?:run|local|run_always|sudo)\s*\(`)
	justHead     = pattern.New(`^@?([\w-]+)[^:=]*:(?:[^=]|$)`)
	justShell    = pattern.New(`(?m)^set\s+shell\s*:=\s*\[([^\[\]]*\w[^\[\]]*)\]`)
	inBraces     = pattern.New(`\{\{\s*(\w+)\s*\}\}`)
	toxBraces    = pattern.New(`\{(?:posargs|env\w*|tox\w*|py\w*)(?::[^{}]*)?\}`)
)

// each are the commands that a pattern finds.
func each(p *pattern.Pattern, code string) (out []Effect) {
	for _, m := range p.FindAllStringSubmatch(code) {
		if len(out) == maxCommands {
			return append(out, Effect{Kind: Dynamic, Text: "a file with more commands than are followed"})
		}
		out = append(out, Effect{Kind: Shell, Text: m[1]})
	}
	return out
}

// maxCommands is how many commands of one file are followed.
const maxCommands = 512

// Ninja says which commands a file of ninja has.
func Ninja(code string) []Effect {
	code = strings.ReplaceAll(code, "$\n", " ")
	for n, m := range ninjaSets.FindAllStringSubmatch(code) {
		if n == maxConstants {
			break
		}
		code = strings.NewReplacer("${"+m[1]+"}", m[2], "$"+m[1]+" ", m[2]+" ").Replace(code)
	}
	return each(ninjaCommand, code)
}

// Procfile says which commands a Procfile has.
func Procfile(code string) []Effect { return each(procLine, code) }

// Tox says which commands the environments of tox run.
func Tox(code string) (out []Effect) {
	for _, m := range toxCommands.FindAllStringSubmatch(strings.ReplaceAll(code, "\\\n", " ")) {
		for _, line := range strings.Split(m[1], "\n") {
			line = strings.TrimLeft(toxBraces.ReplaceAllString(strings.TrimSpace(line), ""), "-! ")
			if line != "" && line[0] != '#' {
				out = append(out, Effect{Kind: Shell, Text: line})
			}
		}
	}
	return out
}

// Tasks says what Python does that describes tasks for a runner: it has an object whose method run starts commands.
func Tasks(code string) []Effect {
	out := Script("python", code)
	s := strip("python", code)
	for _, m := range taskRuns.FindAllStringIndex(s.code) {
		out = append(out, s.command(s.region(m[1]-1)))
	}
	return out
}

// Just says what the recipes of a justfile do that are made. They are as make's, but that the shell gets its signs as they are,
// and that any space begins a line of a recipe.
func Just(code string, words []string) []Effect {
	var rules strings.Builder
	if m := justShell.FindStringSubmatch(code); m != nil {
		words := strings.Fields(strings.NewReplacer(`"`, " ", "'", " ", ",", " ").Replace(m[1]))
		rules.WriteString("SHELL=" + words[0] + "\n.SHELLFLAGS=" + strings.Join(words[1:], " ") + "\n")
	}
	for _, line := range strings.Split(code, "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "" || trimmed[0] == '#' || strings.HasPrefix(line, "set "):
		case line[0] == ' ' || line[0] == '\t':
			trimmed = strings.ReplaceAll(strings.TrimLeft(trimmed, "@-"), "$", "$$")
			rules.WriteString("\t" + inBraces.ReplaceAllString(trimmed, "$$(${1})") + "\n")
		default:
			if m := justHead.FindStringSubmatch(trimmed); m != nil {
				_, needs, _ := strings.Cut(trimmed, ":")
				trimmed = m[1] + ":" + strings.NewReplacer("&&", " ", "(", " ", ")", " ").Replace(needs)
			} else {
				trimmed = strings.NewReplacer("'", "", `"`, "").Replace(trimmed)
			}
			rules.WriteString(trimmed + "\n")
		}
	}
	return Make(rules.String(), words)
}

// Task says what the tasks of a Taskfile do that are run.
func Task(code string, words []string) []Effect {
	var rules strings.Builder
	inside, depth, commands := false, -1, false
	for _, line := range strings.Split(code, "\n") {
		trimmed := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		key, value, _ := strings.Cut(strings.TrimPrefix(trimmed, "- "), ":")
		switch {
		case trimmed == "" || trimmed[0] == '#':
		case indent == 0:
			inside, depth = trimmed == "tasks:", -1
		case !inside:
		case depth < 0 || indent == depth:
			depth = indent
			rules.WriteString(strings.Trim(key, `'"`) + ":\n")
			commands = false
			if value = strings.TrimSpace(value); value != "" && value[0] != '{' {
				rules.WriteString("\t" + scalar(value) + "\n")
			}
		case key == "cmds" || key == "deps":
			commands = key == "cmds"
		case key == "cmd" || key == "sh":
			rules.WriteString("\t" + scalar(value) + "\n")
		case strings.HasPrefix(trimmed, "- ") && key == "task":
			rules.WriteString("\ttask " + scalar(value) + "\n")
		case commands && strings.HasPrefix(trimmed, "- "):
			rules.WriteString("\t" + scalar(trimmed[2:]) + "\n")
		}
	}
	if len(words) == 0 {
		words = []string{"default"}
	}
	return Make(rules.String(), words)
}

// scalar is a text of YAML as it stands in a line of a recipe.
func scalar(value string) string {
	value = strings.TrimSpace(value)
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	return inBraces.ReplaceAllString(strings.ReplaceAll(value, "$", "$$"), "$$(${1})")
}
