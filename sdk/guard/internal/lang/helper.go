package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// defines is where code gives a function a name and parameters.
	defines = pattern.New(`\bdef\s+(\w+)\s*\(([^()]*)\)|\bfunction\s+(\w+)\s*\(([^()]*)\)|\b(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s+)?(?:function\s*)?(?:\(([^()]*)\)|(\w+)\s*=>)`)
	// firstWord is the variable that arguments begin with.
	firstWord = pattern.New(`^\s*\(?\s*(?:\.\.\.|\*)?([A-Za-z_]\w*)\s*(?:[,)]|$)`)
	// loopOver is a loop over a list, by the variable that it sets.
	loopOver = pattern.New(`\bfor\s*\(?\s*(?:const\s+|let\s+|var\s+)?(\w+)\s+(?:in|of)\s+(\w+|[\[(])`)
)

// maxCalls is how many calls of functions that start commands are followed.
const maxCalls = 64

// handedTo are the effects of a call, at a place of the code, that starts what a variable holds: the parameter of a function that
// the code calls itself, or the variable of a loop over a list. False if it isn't known what that may be.
func (s *skeleton) handedTo(at int, args string) ([]Effect, bool) {
	m := firstWord.FindStringSubmatch(args)
	if m == nil || !s.looks(4*len(s.code)) {
		return nil, false
	}
	if out, ok := s.looped(at, m[1]); ok {
		return out, true
	}
	name, params := "", ""
	for _, d := range defines.FindAllStringSubmatchIndex(s.code) {
		if d[0] > at {
			break
		}
		g := pattern.Groups(s.code, d)
		name, params = g[1]+g[3]+g[5], g[2]+g[4]+g[6]+g[7]
	}
	first, _, _ := strings.Cut(params, ",")
	first, _, _ = strings.Cut(first, ":")
	first, _, _ = strings.Cut(first, "=")
	if strings.Trim(strings.TrimSpace(first), "*.") != m[1] || name == "" {
		return nil, false
	}
	var out []Effect
	for place := range places(s.code, name) {
		rest := s.code[place+len(name):]
		if before := strings.TrimRight(s.code[:place], " \t"); strings.HasSuffix(before, "def") || strings.HasSuffix(before, "function") || strings.HasPrefix(strings.TrimLeft(rest, " "), "=") && !strings.HasPrefix(strings.TrimLeft(rest, " "), "==") {
			continue // where it is defined
		}
		if !strings.HasPrefix(rest, "(") && !strings.HasPrefix(rest, ` "`) || len(out) == maxCalls {
			return nil, false // it goes by another name, too
		}
		e := s.command(s.region(place + len(name)))
		if e.Kind == Dynamic {
			return nil, false
		}
		out = append(out, e)
	}
	return out, len(out) > 0
}

// looped are the effects of starting each of a list of commands, if the variable of a loop holds them.
func (s *skeleton) looped(at int, variable string) ([]Effect, bool) {
	var list string
	for _, m := range loopOver.FindAllStringSubmatchIndex(s.code) {
		if m[0] > at || s.code[m[2]:m[3]] != variable {
			continue
		}
		if word := s.code[m[4]:m[5]]; word == "[" || word == "(" {
			list = s.region(m[4])
		} else {
			list = s.listOf(word)
		}
	}
	elements := elementsOf(list)
	if len(elements) == 0 || len(elements) > maxCalls {
		return nil, false
	}
	out := make([]Effect, 0, len(elements))
	for _, element := range elements {
		e := s.command("(" + element + ")")
		if e.Kind == Dynamic {
			return nil, false
		}
		out = append(out, e)
	}
	return out, true
}

// listOf is the list that a variable is set to, and to nothing else.
func (s *skeleton) listOf(variable string) string {
	list, times := "", 0
	for place := range places(s.code, variable) {
		rest := s.code[place+len(variable):]
		if !sets(rest) {
			if m := memberOf.FindStringSubmatch(rest); m != nil && storing[m[1]] {
				return ""
			}
			continue
		}
		times++
		value := strings.TrimLeft(strings.TrimLeft(rest, " \t"), "= \t")
		if value != "" && (value[0] == '[' || value[0] == '(') {
			list = s.region(len(s.code) - len(value))
		}
	}
	if times != 1 {
		return ""
	}
	return list
}

// elementsOf are the elements of a list between brackets.
func elementsOf(list string) (elements []string) {
	if len(list) < 2 {
		return nil
	}
	depth, start := 0, 1
	for i := 1; i < len(list)-1; i++ {
		switch list[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				elements, start = append(elements, list[start:i]), i+1
			}
		}
	}
	if last := strings.TrimSpace(list[start : len(list)-1]); last != "" {
		elements = append(elements, last)
	}
	return elements
}
