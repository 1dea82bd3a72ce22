package lang

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxExpanded bounds what the variables of a makefile may expand to, and how deep they may stand in each other.
const (
	maxExpanded = 16 << 10
	maxDeep     = 16
)

// makefile is what is known of code of make.
type makefile struct {
	vars   map[string]string
	rules  []rule
	above  rule   // the one that lines are put to of which the code has no more than that
	prefix string // what a line of a recipe begins with
	out    []Effect
	size   int // of all that was expanded
	others int // lines that go to a program which is no shell
}

// rule is how some targets are made.
type rule struct{ targets, needs, recipe []string }

var assignment = regexp.MustCompile(`^\s*(?:export\s+|override\s+)*([\w.]+)\s*(:{0,3}=|\?=|\+=|!=)\s*(.*)$`)

// Make says what code of make does: $(shell …) runs commands, and so do the recipes of what is made. The words are what make is
// told: targets, and variables that count before those in the code. Without a target it makes the first.
func Make(code string, words []string) []Effect {
	m := &makefile{prefix: "\t", vars: map[string]string{"CC": "cc", "CXX": "c++", "AR": "ar", "RM": "rm -f", "MAKE": "make", "CURDIR": "."}}
	var goals []string
	told := map[string]string{}
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok {
			told[strings.TrimRight(name, ":?+")] = value
		} else if !strings.HasPrefix(word, "-") {
			goals = append(goals, word)
		}
	}
	m.read(strings.ReplaceAll(code, "\\\n", " "), told)
	if len(goals) == 0 {
		goals = m.first()
	}
	m.make(goals)
	m.run(m.above)
	return m.out
}

// read takes the lines apart.
func (m *makefile) read(code string, told map[string]string) {
	for name, value := range told {
		m.vars[name] = value
	}
	current := -1 // the rule that a line of a recipe belongs to
	for _, line := range strings.Split(code, "\n") {
		if recipe, ok := strings.CutPrefix(line, m.prefix); ok && current >= 0 {
			m.rules[current].recipe = append(m.rules[current].recipe, recipe)
			continue
		} else if ok {
			m.above.recipe = append(m.above.recipe, recipe)
			continue
		}
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if found := assignment.FindStringSubmatch(line); found != nil {
			if _, ok := told[found[1]]; !ok {
				m.assign(found[1], found[2], found[3])
			}
			continue
		}
		targets, rest, ok := strings.Cut(line, ":")
		if !ok {
			m.expand(line, nil, 0) // a directive
			continue
		}
		needs, recipe, one := strings.Cut(strings.TrimLeft(rest, ":"), ";")
		r := rule{targets: strings.Fields(m.expand(targets, nil, 0)), needs: strings.Fields(m.expand(needs, nil, 0))}
		if one {
			r.recipe = []string{recipe}
		}
		m.rules = append(m.rules, r)
		current = len(m.rules) - 1
	}
}

func (m *makefile) assign(name, op, value string) {
	switch op {
	case "!=":
		m.out = append(m.out, Effect{Kind: Shell, Text: m.expand(value, nil, 0)})
		value = "$$RANDOM"
	case "+=":
		value = m.vars[name] + " " + value
	case "=", "?=":
	default: // computed at once
		value = strings.ReplaceAll(m.expand(value, nil, 0), "$", "$$")
	}
	switch m.vars[name] = value; {
	case name == ".RECIPEPREFIX" && value != "":
		m.prefix = value[:1]
	case name == "SHELL":
		m.out = append(m.out, Effect{Kind: Shell, Text: m.expand(value, nil, 0)})
	}
}

// first is what is made if nothing is named.
func (m *makefile) first() []string {
	if goal := m.vars[".DEFAULT_GOAL"]; goal != "" {
		return []string{goal}
	}
	for _, r := range m.rules {
		if len(r.targets) > 0 && !strings.HasPrefix(r.targets[0], ".") && !strings.Contains(r.targets[0], "%") {
			return r.targets[:1]
		}
	}
	return nil
}

// make adds what the recipes do that the goals need. A rule with a pattern may be for any of them.
func (m *makefile) make(goals []string) {
	used := make([]bool, len(m.rules))
	for i := 0; i < len(goals); i++ {
		for n, r := range m.rules {
			if used[n] || !slices.ContainsFunc(r.targets, func(t string) bool { return t == goals[i] || strings.Contains(t, "%") || t == ".DEFAULT" }) {
				continue
			}
			used[n] = true
			goals = append(goals, r.needs...)
			m.run(r)
		}
	}
}

// run adds what the recipe of a rule does.
func (m *makefile) run(r rule) {
	for _, line := range r.recipe {
		if command := strings.TrimLeft(m.expand(line, &r, 0), "@-+ \t"); command != "" {
			command = m.given(command)
			m.out = append(m.out, Effect{Kind: Shell, Text: command})
		}
	}
}

// given is a line of a recipe as the program gets it that make is told to take for the shell, if it is none.
func (m *makefile) given(line string) string {
	program := m.expand(m.vars["SHELL"], nil, 0)
	words := strings.Fields(program)
	if len(words) == 0 || IsShell(path.Base(words[0])) || path.Base(words[0]) == "env" || strings.ContainsAny(program, "#;&|$") {
		return line
	}
	flags, ok := m.vars[".SHELLFLAGS"]
	if !ok {
		flags = "-c"
	}
	if m.others++; m.others > maxCommands/2 {
		return "$RANDOM" // more than are followed
	}
	return program + " " + m.expand(flags, nil, 0) + " '" + strings.ReplaceAll(line, "'", `'\''`) + "'"
}

// expand replaces variables and functions. What these give isn't known, but what $(shell …) runs is.
func (m *makefile) expand(text string, r *rule, deep int) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "$")
		b.WriteString(before)
		if m.size += len(before); !ok || rest == "" || deep > maxDeep || m.size > maxExpanded {
			return b.String()
		}
		name := rest[:1]
		text = rest[1:]
		switch rest[0] {
		case '$':
			b.WriteByte('$')
			continue
		case '(', '{':
			name = strings.TrimSpace(bracketed(rest))
			text = rest[min(len(rest), len(bracketed(rest))+2):]
		}
		if command, ok := strings.CutPrefix(name, "shell "); ok {
			m.out = append(m.out, Effect{Kind: Shell, Text: m.expand(command, r, deep+1)})
		}
		if written, ok := strings.CutPrefix(name, "file "); ok {
			file, text, _ := strings.Cut(m.expand(written, r, deep+1), ",")
			if file = strings.TrimSpace(file); strings.HasPrefix(file, ">") {
				m.out = append(m.out, Effect{Kind: Write, Text: strings.TrimLeft(file, "> "), Content: strings.TrimSpace(text) + "\n"})
			} else if read, ok := strings.CutPrefix(file, "<"); ok {
				m.out = append(m.out, Effect{Kind: Path, Text: strings.TrimSpace(read)})
			}
			continue
		}
		b.WriteString(m.value(name, r, deep))
	}
}

// value is what a variable or a function stands for.
func (m *makefile) value(name string, r *rule, deep int) string {
	value, set := m.vars[name]
	switch {
	case name == "":
		return ""
	case set:
		return m.expand(value, r, deep+1)
	case strings.ContainsAny(name, " ,:"):
		m.expand(name, r, deep+1)
		return "$RANDOM"
	case r != nil && name == "@" && len(r.targets) > 0:
		return r.targets[0]
	case r != nil && name == "<" && len(r.needs) > 0:
		return r.needs[0]
	case r != nil && len(name) == 1 && strings.IndexByte("^+?|", name[0]) >= 0:
		return strings.Join(r.needs, " ")
	case wordByte(name[0]):
		return "${" + name + "}" // the environment may have it
	}
	return "$RANDOM"
}

// bracketed is what stands in the brackets that a text begins with.
func bracketed(text string) string {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '{':
			depth++
		case ')', '}':
			if depth--; depth == 0 {
				return text[1:i]
			}
		}
	}
	return text[1:]
}
