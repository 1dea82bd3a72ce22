package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// setsElement is where an element is set, whichever that is.
	setsElement = pattern.New(`\]\s*(?:[-+*/|&^%]|//|\*\*|<<|>>|\|\||\?\?|&&)?=(?:[^=>~]|$)|\]\s*(?:,[^=\n;()]*|[\])}]+\s*)=(?:[^=>~]|$)|\]\s+(?:in|of)\b|\]\s*(?:\+\+|--)|(?:\bas\s+\w+|\+\+\s*\w+|--\s*\w+)\s*\[`)
	// oneElement is one element that is set, of a variable; ownTable is what such a variable is set to that has nothing of others in it.
	oneElement = pattern.New(`(?:^|[;\n{}:])\s*([A-Za-z_]\w*)\s*\[$`)
	ownTable   = pattern.New(`^\s*(?:\{\s*\}|\[\s*\]|(?:dict|list|set|(?:collections\.)?(?:defaultdict|Counter|OrderedDict|deque)|new\s+(?:Map|Set|Array))\s*\((?:int|list|dict|set|str|float)?\))\s*$`)
	// setTogether are variables that a loop sets together.
	setTogether = pattern.New(`^\[[\w\s,]*\]\s+(?:in|of)\s`)
	// grows is a method by which something more gets into a list or a table, and growsBy what stands behind a variable that is added to.
	grows   = pattern.New(`([\w.\])"]*)\s*\.\s*(?:append|push|insert|extend|unshift|splice|add|set|update|setdefault|appendleft|extendleft|fill|copyWithin|__\w+__)\s*\(`)
	growsBy = pattern.New(`([\w.\])]+)\s*(?:\+|\*|\|\||\?\?|&&|\|)=[^=]`)
	// plainValue is what a variable is set to that is no list of others.
	plainValue = pattern.New(`^\s*(?:[bBfFrRuU]{0,2}"\d+"|-?\d|[\[({]|True\b|False\b|None\b|true\b|false\b|null\b)`)
)

// settled says whether the lists and tables that the code shows stay what they are: it changes none, nor what is in one, but those that
// begin with nothing in them.
func (s *skeleton) settled() bool {
	if s.settledOf != s.code || s.code == "" {
		s.settledOf, s.isSettled = s.code, s.setsOwnElements() && s.growsOwn()
	}
	return s.isSettled
}

// growsOwn says whether all that the code adds something to begins with nothing in it, or is no list.
func (s *skeleton) growsOwn() bool {
	for _, m := range grows.FindAllStringSubmatch(s.worth(grows)) {
		if m[1] != "sys.path" && (!identifier.MatchString(m[1]) || !s.looks(len(s.code)) || !s.ownsTable(m[1])) {
			return false
		}
	}
	for _, m := range growsBy.FindAllStringSubmatch(s.worth(growsBy)) {
		if !identifier.MatchString(m[1]) || strings.Contains(m[1], ".") || !s.looks(len(s.code)) || !s.setPlainly(m[1]) {
			return false
		}
	}
	return true
}

// setPlainly says whether a variable is only set to values of its own, never to what another one holds.
func (s *skeleton) setPlainly(variable string) bool {
	times := 0
	for place := range places(s.code, variable) {
		behind := s.code[place+len(variable):]
		if plainlySet.MatchString(behind) {
			if times++; !plainValue.MatchString(behind[strings.IndexByte(behind, '=')+1:]) {
				return false
			}
		} else if !sets(behind) && !strings.HasPrefix(behind, "[") && s.gets(place, variable) {
			return false
		}
	}
	return times > 0
}

// setsOwnElements says whether elements that the code sets, by whatever key, are of tables that have nothing else in them.
func (s *skeleton) setsOwnElements() bool {
	for _, m := range setsElement.FindAllStringIndex(s.worth(setsElement)) {
		if s.isArgument(m[0]) {
			continue
		}
		at := s.outerElement(m[0])
		open := opening(s.code[:at+1])
		if s.code[at] == ']' && open >= 0 && setTogether.MatchString(s.code[open:]) {
			continue // they are set by a loop
		}
		if s.code[at] != ']' || open < 0 || !plainlySet.MatchString(s.code[at+1:]) {
			return false
		}
		if name := oneElement.FindStringSubmatch(s.code[max(0, open-maxTold) : open+1]); name == nil || !s.ownsTable(name[1]) {
			key := strings.TrimSpace(s.code[open+1 : at])
			if text, ok := s.text(strings.Trim(key, `"`)); !ok || key[0] != '"' || strings.Contains(text, "${") {
				return false
			}
		}
	}
	return true
}

// outerElement is where the element ends in whose key another one stands that ends at a place, as in a[b["c"]].
func (s *skeleton) outerElement(at int) int {
	for s.code[at] == ']' && at+1 < len(s.code) && s.code[at+1] == ']' {
		open := opening(s.code[:at+2])
		if open < 1 || !wordByte(s.code[open-1]) {
			break
		}
		at++
	}
	return at
}

// ownsTable says whether a variable is set to nothing but empty tables.
func (s *skeleton) ownsTable(variable string) bool {
	times := 0
	for place := range places(s.code, variable) {
		end := place + len(variable)
		if strings.HasPrefix(s.code[end:], "[") {
			continue // one of its elements
		}
		if s.gets(place, variable) {
			return false
		}
		if !sets(s.code[end:]) {
			continue
		}
		if value, ok := s.value(end); !ok || !plainlySet.MatchString(s.code[end:]) || !ownTable.MatchString(value) {
			return false
		}
		times++
	}
	return times > 0
}
