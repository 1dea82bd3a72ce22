package lang

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// firstWord is the variable that arguments begin with.
	firstWord = pattern.New(`^\s*\(?\s*(?:\.\.\.|\*)?(\$?[A-Za-z_]\w*)\s*(?:[,)]|$)`)
	// rebound is what stands behind a variable that is set in another way than to one value; renamedAs what stands before one.
	rebound   = pattern.New(`^\s*(?:[^()={}\n]*[}\]]\s*=[^=>]|:=|\[[^\[\]]*\]\s*=[^=])`)
	renamedAs = pattern.New(`(?:\b(?:with|except|import)\b[^;\n]*\bas\s+|\bcatch\s*\(\s*|\blambda\b[^:\n]*)$`)
	// namedLambda is what stands before a parameter of a function of Python's that is a value with a name.
	namedLambda = pattern.New(`(?:^|[;\n])[ \t]*\w+\s*=\s*lambda\b[^:\n]*$`)
	byKeyword   = pattern.New(`^\s*(?:\*|\.\.\.|[A-Za-z_]\w*\s*=[^=])`)
)

// maxCalls is how many calls of functions that start commands are followed, and maxHanded through how many hands.
const (
	maxCalls  = 64
	maxHanded = 4
)

// handedTo are the effects of a call that starts what a variable holds: the parameter of a function that the code calls itself, or
// the variable of a loop over a list. False if it isn't known what that may be.
func (s *skeleton) handedTo(args string) ([]Effect, bool) {
	h := handing{s: s, seen: map[string]bool{}}
	name := s.handedName(args)
	return h.effects, name != "" && h.variable(name) && len(h.effects) > 0
}

// wrapped are arguments that begin with a list of all that a variable of Python's holds, or with the words of it.
var wrapped = pattern.New(`^\(\s*(?:(?:list|tuple|shlex\s*\.\s*split)\s*\(\s*([A-Za-z_]\w*)\s*\)|\[\s*\*\s*([A-Za-z_]\w*)\s*\]|([A-Za-z_]\w*)\s*\.\s*split\s*\(\s*\))\s*(?:[,)]|$)`)

// handedName is the variable that arguments begin with, by itself or all that it holds, or the member of one, VARIABLE.KEY; "" if they
// begin with something else.
func (s *skeleton) handedName(args string) string {
	if m := wrapped.FindStringSubmatch(args); m != nil && s.language == "python" {
		return m[1] + m[2] + m[3]
	}
	if m := firstWord.FindStringSubmatch(args); m != nil {
		return m[1]
	}
	return s.memberName(args)
}

// handing follows what a variable may hold that is started as a command.
type handing struct {
	s       *skeleton
	seen    map[string]bool
	effects []Effect
	take    func(args string) bool // if not nil, what looks at what the variable holds, instead of starting it
	taken   int
}

// variable says whether all that a variable of that name may hold is known: wherever a loop or a call sets it.
func (h *handing) variable(name string) bool {
	s := h.s
	if base, key, ok := strings.Cut(name, "."); ok {
		return h.member(base, key)
	}
	if h.seen[name] {
		return true
	}
	if h.seen[name] = true; len(h.seen) > maxHanded || !s.looks(4*len(s.code)) || s.setOtherwise(name) {
		return false
	}
	before := len(h.effects) + h.taken
	for place := range places(s.code, name) {
		if end := place + len(name); plainlySet.MatchString(s.code[end:]) {
			if name == "$_" {
				return false // much else sets it
			}
			value, ok := s.value(end)
			if value = strings.TrimSpace(value); !ok || strings.HasPrefix(value, "[") && !s.unchanged(name) {
				return false
			}
			if strings.HasPrefix(value, "[") {
				if value, ok = s.grown(name, value); !ok {
					return false
				}
			}
			for _, one := range s.choices(value) {
				if !h.starts("(" + one + ")") {
					return false
				}
			}
		}
	}
	for l := range s.loops() {
		if !h.looped(name, l.targets, l.list, l.values) {
			return false
		}
	}
	for _, f := range s.functions() {
		for i, param := range f.params {
			if param.name == name && !h.called(f, i, param.rest) {
				return false
			}
		}
	}
	return !s.unnamed(name) && len(h.effects)+h.taken > before
}

var (
	// oneIf is one of two strings or lists in Python, by a condition, and oneOf the same in other languages.
	oneIf = pattern.New(`^("\d+"|\[[^\[\]]*\])\s+if\s[^\n]*\selse\s+("\d+"|\[[^\[\]]*\])$`)
	oneOf = pattern.New(`^[^?"]*(?:"\d+"[^?"]*)*\?\s*("\d+"|\[[^\[\]]*\])\s*:\s*("\d+"|\[[^\[\]]*\])$`)
)

// choices are the values that an expression may have: two, if it chooses between them.
func (s *skeleton) choices(expression string) []string {
	by := oneOf
	if s.language == "python" {
		by = oneIf
	}
	if m := by.FindStringSubmatch(expression); m != nil {
		return m[1:]
	}
	return []string{expression}
}

// byArrow is what stands behind a parameter of a function of Node's that has no name.
var byArrow = pattern.New(`^(?:\s*=>|[^()\n]*\)\s*=>)`)

// unnamed says whether a name is a parameter of a function without a name, other than one that a list's elements are handed to.
func (s *skeleton) unnamed(name string) bool {
	if s.language != "node" {
		return false
	}
	spans := slices.Concat(defines.FindAllStringSubmatchIndex(s.code), eachOf.FindAllStringSubmatchIndex(s.code), eachRecord.FindAllStringSubmatchIndex(s.code))
	for place := range places(s.code, name) {
		within := func(span []int) bool { return place >= span[0] && place < span[1] }
		if byArrow.MatchString(s.code[place+len(name):]) && !slices.ContainsFunc(spans, within) {
			return true
		}
	}
	return false
}

// looped follows what a loop over a list, or over the values of a table, sets a variable to, if it is one of those that the loop sets.
func (h *handing) looped(name, targets, list string, values bool) bool {
	names := strings.Split(strings.Trim(targets, "([{ }])"), ",")
	for i, target := range names {
		if strings.TrimSpace(target) != name {
			continue
		}
		if targets[0] == '{' {
			if !h.s.areRecords(list, name) || !h.given(name) {
				return false
			}
			continue // it takes the member of that name
		}
		if list == "" {
			return false // something else is made of it
		}
		if list[0] != '[' && list[0] != '(' {
			if list = h.s.listOf(list); (h.s.language == "python" || h.s.language == "node") && strings.ContainsAny(list, "[({") && !h.s.settled() {
				return false
			}
		}
		elements := elementsOf(list)
		if len(elements) == 0 || list[0] == '{' && len(names) != 2 && !values || list[0] != '{' && values {
			return false
		}
		for _, element := range elements {
			if list[0] == '{' {
				element = asPair(element)
			}
			if pair := elementsOf(element); values && len(pair) == 2 {
				element = pair[1]
			} else if values {
				return false
			}
			if len(names) > 1 {
				inner := elementsOf(strings.TrimSpace(element))
				if len(inner) != len(names) {
					return false
				}
				element = inner[i]
			}
			if !h.starts("(" + element + ")") {
				return false
			}
		}
	}
	return true
}

// asPair is an entry of a table, KEY: VALUE or KEY => VALUE, as a list of the two; nothing if it is none.
func asPair(entry string) string {
	key, value, ok := strings.Cut(entry, ":")
	if !ok {
		key, value, ok = strings.Cut(entry, "=>")
	}
	if !ok {
		return ""
	}
	return "(" + key + "," + value + ")"
}

// called follows what calls of a function of the code hand to its parameter, or to all from that one on.
func (h *handing) called(f function, param int, rest bool) bool {
	s := h.s
	stands := places
	switch {
	case f.method:
		stands, param = mentions, param-1 // the object is the first
	case f.member:
		stands = mentions
	}
	if f.decorated || f.method && (param < 0 || !s.isPlain(f.class)) {
		return false
	}
	if f.method && f.name == constructor {
		return !rest && h.constructed(f, param)
	}
	for place := range stands(s.code, f.name) {
		behind := s.code[place+len(f.name):]
		if before := strings.TrimRight(s.code[:place], " \t"); strings.HasSuffix(before, "def") || strings.HasSuffix(before, "function") || strings.HasSuffix(before, "func") || !f.method && strings.HasPrefix(strings.TrimLeft(behind, " "), "=") && !strings.HasPrefix(strings.TrimLeft(behind, " "), "==") {
			continue // where it is defined
		}
		if f.member && s.definition(place) {
			continue
		}
		if f.method {
			called, other := s.calledOf(f.class, s.code[max(0, place-maxTold):place])
			if other {
				continue
			}
			if !called {
				return false
			}
		}
		if !strings.HasPrefix(behind, "(") && !strings.HasPrefix(behind, ` "`) {
			return false // it goes by another name, too
		}
		args := s.region(place + len(f.name))
		if param > 0 || rest || h.take != nil {
			elements := elementsOf(args)
			if param >= len(elements) {
				return false
			}
			for _, element := range elements[:param+1] {
				if byKeyword.MatchString(element) {
					return false
				}
			}
			args = "(" + elements[param] + ")"
			if s.language == "go" && param+1 < len(f.params) && f.params[param+1].rest {
				args = "(" + strings.Join(elements[param:], ",") + ")" // a command's name, and its arguments
			}
			if rest {
				args = "([" + strings.Join(elements[param:], ",") + "])"
			}
		}
		if !h.starts(args) {
			return false
		}
	}
	return true
}

// starts adds the effect of starting a command by these arguments, and says whether it is known.
func (h *handing) starts(args string) bool {
	if len(h.effects)+h.taken == maxCalls {
		return false
	}
	if h.take != nil {
		h.taken++
		return h.take(args)
	}
	e := h.s.command(args)
	if e.Kind == Dynamic {
		name := h.s.handedName(keyword.ReplaceAllString(args, ""))
		return name != "" && h.variable(name)
	}
	h.effects = append(h.effects, e)
	return true
}

// plainlySet is what stands behind a variable that is set to one value.
var plainlySet = pattern.New(`^\s*=(?:[^=~>]|$)`)

// setOtherwise says whether a variable is set, or what it holds is changed, by anything but loops, calls and values of its own.
func (s *skeleton) setOtherwise(name string) bool {
	for place := range places(s.code, name) {
		before, behind := s.code[max(0, place-maxTold):place], s.code[place+len(name):]
		if sets(behind) && (!plainlySet.MatchString(behind) || s.gets(place, name)) || rebound.MatchString(behind) && !s.isKey(place) || renamedAs.MatchString(before) && !namedLambda.MatchString(before) || together.MatchString(before) && alike.MatchString(behind) && !sets(behind) {
			return true
		}
		if m := memberOf.FindStringSubmatch(behind); m != nil && storing[m[1]] {
			return true
		}
	}
	return s.altered(s.language, name) || s.assignedByText(name)
}

// isKey says whether a place is within the brackets behind a name, where an element's key stands: a[c] = 1 doesn't set c.
func (s *skeleton) isKey(place int) bool {
	bracket, _ := s.enclosing(place)
	return bracket > 0 && s.code[bracket] == '[' && wordByte(s.code[bracket-1])
}

// value is what a variable is set to by what stands behind it at a place; false if something else than one value may be.
func (s *skeleton) value(at int) (string, bool) {
	expression, comma := s.upToComma(at + strings.IndexByte(s.code[at:], '=') + 1)
	if !comma {
		return expression, true
	}
	bracket, _ := s.enclosing(at)
	return expression, bracket >= 0 && s.code[bracket] == '('
}

// upToComma is the expression that begins at a place, and whether a comma ends it.
func (s *skeleton) upToComma(from int) (expression string, comma bool) {
	depth := 0
	for i := from; i < len(s.code); i++ {
		switch s.code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				return s.code[from:i], false
			}
		case ',', ';', '\n':
			if depth == 0 {
				return s.code[from:i], s.code[i] == ','
			}
		}
	}
	return s.code[from:], false
}

// listOf is the list that a variable is set to, and to nothing else.
func (s *skeleton) listOf(variable string) string {
	list, times := "", 0
	for place := range places(s.code, variable) {
		rest := s.code[place+len(variable):]
		if !sets(rest) {
			if m := memberOf.FindStringSubmatch(rest); m != nil && storing[m[1]] || rebound.MatchString(rest) || s.gets(place, variable) {
				return ""
			}
			continue
		}
		times++
		value := strings.TrimLeft(strings.TrimLeft(rest, " \t"), "= \t")
		if value != "" && (value[0] == '[' || value[0] == '(' || value[0] == '{') {
			list = s.whole(len(s.code) - len(value))
		}
	}
	if times != 1 {
		return ""
	}
	return list
}

// goesFurther is what stands behind a list of which something else is made.
var goesFurther = pattern.New(`^[ \t]*(?:[-+.*|&%/?\[<]|if\b[^\n]*\belse\b|or\b|and\b)`)

// whole is the list that begins at a place of the code, if nothing else is made of it.
func (s *skeleton) whole(at int) string {
	list := s.region(at)
	behind := s.code[at+len(list):]
	if goesFurther.MatchString(strings.TrimPrefix(behind, ".freeze")) {
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
