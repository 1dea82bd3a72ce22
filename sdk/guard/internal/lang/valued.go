package lang

import (
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// addsTo is a list that what a variable holds is put behind, at the beginning of arguments.
	addsTo = pattern.New(`^\(\s*[\[(]([^\[\]()]*)[\])]\s*\+\s*(?:list\s*\(\s*)?([A-Za-z_]\w*)\s*\)?\s*([,)])`)
	// heldBy is an argument that a variable holds, or several that it holds.
	heldBy = pattern.New(`^\s*(?:\*|\.\.\.)?\s*([A-Za-z_]\w*)\s*(?:\.\.\.)?\s*$`)
	// wordsOnly are strings alone, by themselves or as a list.
	wordsOnly = pattern.New(`^[\s(\[]*("\d+"(?:\s*,\s*"\d+")*)\s*,?[\s)\]]*$`)
	// addsText is a string that what a variable holds is put behind, or into, at the beginning of arguments.
	addsText = pattern.New(`^\(\s*"(\d+)"\s*([+%])\s*([A-Za-z_]\w*)\s*([,)])`)
	// filledIn is a string at the beginning of arguments that may have variables in it; placesIn is where, by language.
	filledIn = pattern.New(`^\(?\s*[fF]?"(\d+)"\s*(?:[,)]|$)`)
	placesIn = map[string]*pattern.Pattern{
		"python": pattern.New(`\{\s*([A-Za-z_]\w*)\s*\}`),
		"node":   pattern.New(`\$\{\s*([A-Za-z_]\w*)\s*\}`),
	}
	// givesList is where arguments are given as a list of which nothing is known.
	givesList = pattern.New(`^\(\s*\[\s*"\d+"\s*,\s*(?:\*|\.\.\.)|^\(\s*\[\s*"\d+"\s*\]\s*\+|^\(\s*"\d+"\s*,\s*(?:\.\.\.|\*)\s*[A-Za-z_]\w*\s*[,)]`)
	// listBehind is the same of Node, whose functions get a program and a list.
	listBehind = pattern.New(`^\(\s*"\d+"\s*,\s*[A-Za-z_]\w*\s*[,)]`)
	// takesCode are programs that run code of the shell's.
	takesCode = names("sh bash dash zsh ksh ash")
)

// maxValued is how many variables of a call's arguments are followed, and maxValues how many values of each.
const (
	maxValued = 3
	maxValues = 8 // but of the first one: as many as calls are followed
)

// valued are the effects of a call whose arguments have variables among them, with each of the values that loops, calls or assignments
// give them. False if these aren't known.
func (s *skeleton) valued(args string, depth int) ([]Effect, bool) {
	if args == "" || args[0] != '(' || depth == 0 {
		return nil, false
	}
	if m := addsTo.FindStringSubmatchIndex(args); m != nil {
		g := pattern.Groups(args, m)
		args = "([" + strings.TrimRight(g[1], ", ") + ",*" + g[2] + "]" + g[3] + args[m[1]:]
	}
	if m := addsText.FindStringSubmatchIndex(args); m != nil {
		g := pattern.Groups(args, m)
		text, ok := s.text(g[1])
		if !ok {
			return nil, false
		}
		return s.withTexts(g[3], depth, func(value string) string {
			if g[2] == "%" {
				value = verbs.ReplaceAllStringFunc(text, func(string) string { return value })
			} else {
				value = text + value
			}
			return "(" + s.literal(value, "") + g[4] + args[m[1]:]
		})
	}
	if effects, ok := s.valuedText(args, depth); ok {
		return effects, true
	}
	elements := elementsOf(args)
	fill := func(list []string, call func(list string) string) (effects []Effect, ok bool) {
		for at, element := range list {
			name := s.heldName(element)
			if name == "" {
				continue
			}
			effects, ok := s.withEach(name, depth, func(value string) string {
				filled := slices.Clone(list)
				filled[at] = value
				return call(strings.Join(filled, ","))
			})
			if ok {
				return effects, true
			}
		}
		return nil, false
	}
	for i, element := range elements { // the first may be a list, or the second of a function that gets the program by itself
		if element = strings.TrimSpace(element); i > 1 || !strings.HasPrefix(element, "[") {
			continue
		}
		effects, ok := fill(elementsOf(element), func(list string) string {
			filled := slices.Clone(elements)
			filled[i] = "[" + list + "]"
			return "(" + strings.Join(filled, ",") + ")"
		})
		if ok || i == 0 {
			return effects, ok
		}
	}
	return fill(elements, func(list string) string { return "(" + list + ")" })
}

// heldName is the variable that holds an argument, or several, or the member of one, VARIABLE.KEY; "" if none does.
func (s *skeleton) heldName(argument string) string {
	if m := heldBy.FindStringSubmatch(argument); m != nil {
		return m[1]
	}
	return s.memberName(strings.TrimLeft(argument, "*. \t\n"))
}

// valuedText are those of a call whose arguments begin with a string that has a variable in it.
func (s *skeleton) valuedText(args string, depth int) ([]Effect, bool) {
	m := filledIn.FindStringSubmatchIndex(args)
	places := placesIn[s.language]
	if m == nil || places == nil {
		return nil, false
	}
	n, _ := strconv.Atoi(args[m[2]:m[3]])
	l := s.literals[n]
	in := places.FindStringSubmatchIndex(l.text)
	if in == nil {
		return nil, false
	}
	return s.withTexts(l.text[in[2]:in[3]], depth, func(value string) string {
		filled, before := l, args[:m[2]]
		filled.text = l.text[:in[0]] + value + l.text[in[1]:]
		if !places.MatchString(filled.text) {
			filled.template, filled.tick, before = false, false, `("`
		}
		s.literals = append(s.literals, filled)
		return before + strconv.Itoa(len(s.literals)-1) + args[m[3]:]
	})
}

// withTexts is withEach for a variable that holds one string at a time, by what they say.
func (s *skeleton) withTexts(name string, depth int, args func(text string) string) ([]Effect, bool) {
	return s.withEach(name, depth, func(value string) string {
		text, ok := s.text(strings.Trim(value, `"`))
		if !ok || len(s.literals) > maxLiterals {
			return ""
		}
		return args(text)
	})
}

// withEach are the effects of calls with the arguments that are made of each value of a variable.
func (s *skeleton) withEach(name string, depth int, args func(value string) string) (effects []Effect, ok bool) {
	var values []string
	h := handing{s: s, seen: map[string]bool{}, take: func(value string) bool {
		if strings.Trim(value, "()[] \t\n,") == "" {
			values = append(values, "") // an empty list
			return true
		}
		m := wordsOnly.FindStringSubmatch(value)
		if m != nil {
			values = append(values, m[1])
		}
		return m != nil
	}}
	if !h.variable(name) || len(values) > maxValues && depth < maxValued {
		return nil, false
	}
	for _, value := range values {
		filled := args(value)
		if filled == "" || !s.looks(perStart) {
			return nil, false
		}
		e := s.command(filled)
		if more, ok := s.valued(filled, depth-1); ok && (e.Kind == Argv || e.Kind == Shell) {
			effects = append(effects, more...)
			continue
		}
		effects = append(effects, e)
	}
	return effects, true
}
