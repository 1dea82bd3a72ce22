package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// ofMember are arguments that begin with a member of what a variable holds.
	ofMember = pattern.New(`^\s*\(?\s*([A-Za-z_]\w*)\s*(?:\.\s*get\s*\(\s*"(\d+)"\s*\)|\.\s*([A-Za-z_]\w*)|\[\s*"(\d+)"\s*\])\s*(?:[,)]|$)`)
	// changesMembers is code that may give things members otherwise than by their names.
	changesMembers = pattern.New(`\b(?:setattr|__setattr__|__dict__|__setitem__|__ior__|__slots__|setitem|update|setdefault|vars|globals|locals|exec|eval|assign|merge|defaults|defineProperty|defineProperties|Proxy|Reflect|prototype|__proto__|fromEntries|ctypes|gc)\b`)
	// changesNodeMembers is the same of Node, where exec starts programs.
	changesNodeMembers = pattern.New(`\b(?:setattr|__setattr__|__dict__|__setitem__|__ior__|__slots__|setitem|update|setdefault|vars|globals|locals|eval|Function|vm|assign|merge|defaults|defineProperty|defineProperties|Proxy|Reflect|prototype|__proto__|fromEntries|ctypes|gc)\b`)
	// plainName is a variable by itself.
	plainName = pattern.New(`^[A-Za-z_]\w*$`)
	// memberTarget is what stands behind a member that is set, but for one that is set to one value.
	memberTarget = pattern.New(`^\s*(?:[\])}]+\s*=(?:[^=>~]|$)|[\])}]*\s*(?:of|in)\s|\+\+|--)`)
)

// memberName is the member of a variable that arguments begin with, VARIABLE.KEY; "" if they begin with something else.
func (s *skeleton) memberName(args string) string {
	m := ofMember.FindStringSubmatch(args)
	if m == nil || s.language != "python" && s.language != "node" {
		return ""
	}
	key := m[3]
	if text, ok := s.text(m[2] + m[4]); key == "" && ok && identifier.MatchString(text) && !strings.Contains(text, ".") {
		key = text
	}
	if key == "" {
		return ""
	}
	return m[1] + "." + key
}

// member says whether all is known that a member of a variable may hold: the variable is one of the tables of a list, or a table by itself,
// and whatever the code gives such members it gives them by their name.
func (h *handing) member(base, key string) bool {
	s := h.s
	name := base + "." + key
	if h.seen[name] {
		return true
	}
	if h.seen[name] = true; len(h.seen) > maxHanded || !s.looks(4*len(s.code)) {
		return false
	}
	if base == "self" && s.language == "python" {
		return !s.setOtherwise(base) && h.attribute(key)
	}
	before := len(h.effects) + h.taken
	return s.records(base, key, map[string]bool{}) && h.given(key) && len(h.effects)+h.taken > before
}

// records says whether a variable holds nothing but tables with a key, as the code shows it: it is set to such, a loop over some sets it, or
// it is what functions of the code get.
func (s *skeleton) records(variable, key string, seen map[string]bool) bool {
	if seen[variable] {
		return true
	}
	if seen[variable] = true; len(seen) > maxHanded || !s.looks(4*len(s.code)) || s.setOtherwise(variable) || s.unnamed(variable) {
		return false
	}
	sources := 0
	one := func(value string) bool {
		sources++
		value = strings.TrimSpace(value)
		return s.isRecord(value, key) || plainName.MatchString(value) && s.records(value, key, seen)
	}
	for place := range places(s.code, variable) {
		if end := place + len(variable); plainlySet.MatchString(s.code[end:]) {
			if value, ok := s.value(end); !ok || !one(value) {
				return false
			}
		}
	}
	for l := range s.loops() {
		for target := range strings.SplitSeq(strings.Trim(l.targets, "([{ }])"), ",") {
			if strings.TrimSpace(target) != variable {
				continue
			}
			if sources++; strings.Contains(l.targets, ",") || l.values || !s.areRecords(l.list, key) {
				return false
			}
		}
	}
	calls := &handing{s: s, seen: map[string]bool{}, take: func(args string) bool { return one(args[1 : len(args)-1]) }}
	for _, f := range s.functions() {
		for i, param := range f.params {
			if param.name == variable && (param.rest || !calls.called(f, i, false)) {
				return false
			}
		}
	}
	return sources > 0
}

// areRecords says whether a list has nothing but tables with a key, as the code shows it.
func (s *skeleton) areRecords(list, key string) bool {
	if list == "" {
		return false
	}
	if list[0] != '[' && list[0] != '(' {
		if !s.looks(len(s.code)) {
			return false
		}
		if list = s.listOf(list); list == "" || list[0] == '{' {
			return false
		}
	}
	elements := elementsOf(list)
	for _, element := range elements {
		if !s.isRecord(element, key) {
			return false
		}
	}
	return len(elements) > 0
}

// isRecord says whether an expression is a table with plain keys, among them one.
func (s *skeleton) isRecord(expression, key string) bool {
	expression = strings.TrimSpace(expression)
	if expression == "" || expression[0] != '{' || closingIn(expression) != len(expression) {
		return false
	}
	has := false
	for _, entry := range elementsOf(expression) {
		name, _, ok := strings.Cut(strings.TrimSpace(entry), ":")
		name = strings.TrimSpace(name)
		text, quoted := s.text(strings.Trim(name, `"`))
		switch {
		case !ok:
			return false // of another table, or a variable
		case quoted && name[0] == '"':
			has = has || text == key
		case s.language == "node" && identifier.MatchString(name):
			has = has || name == key
		default:
			return false
		}
	}
	return has
}

// given follows all that the code gives members of a name, whatever they are of.
func (h *handing) given(key string) bool {
	s := h.s
	changes := changesMembers
	if s.language == "node" {
		changes = changesNodeMembers
	}
	if changes.MatchString(s.worth(changes)) || !s.settled() {
		return false
	}
	for place := range mentions(s.code, key) {
		end := place + len(key)
		switch {
		case place > 0 && s.code[place-1] == '.':
			if !h.stands(place, end) {
				return false
			}
		case s.language != "node":
		case wordBefore(s.code[:place]) == "get" || wordBefore(s.code[:place]) == "set":
			return false
		case isEntry(s.code[:place], s.code[end:]):
			if !h.entered(end) {
				return false
			}
		}
	}
	for at, l := range s.references() {
		if l.text != key {
			continue
		}
		end := at + 2 + strings.IndexByte(s.code[at+1:], '"')
		before, behind := strings.TrimRight(s.code[:at], " \t\n"), strings.TrimLeft(s.code[end:], " \t\n")
		switch {
		case isEntry(before, behind):
			if !h.entered(end) {
				return false
			}
		case strings.HasSuffix(before, "[") && strings.HasPrefix(behind, "]"):
			if !h.stands(at, len(s.code)-len(behind)+1) {
				return false
			}
		}
	}
	return true
}

// isEntry says whether what stands between two parts of code is the key of an entry of a table.
func isEntry(before, behind string) bool {
	before, behind = strings.TrimRight(before, " \t\n"), strings.TrimLeft(behind, " \t\n")
	return before != "" && (before[len(before)-1] == '{' || before[len(before)-1] == ',') && strings.HasPrefix(behind, ":")
}

// entered follows the value of an entry whose key ends at a place.
func (h *handing) entered(end int) bool {
	value, _ := h.s.upToComma(end + strings.IndexByte(h.s.code[end:], ':') + 1)
	return h.starts("(" + strings.TrimSpace(value) + ")")
}

// stands follows what a member is set to that stands between two places, or says that it is only read there.
func (h *handing) stands(at, end int) bool {
	s := h.s
	behind := s.code[end:]
	if plainlySet.MatchString(behind) {
		value, ok := s.value(end)
		return ok && h.starts("("+strings.TrimSpace(value)+")")
	}
	before := s.code[max(0, at-maxTold):at]
	begins := strings.LastIndexFunc(before, func(r rune) bool { return !wordByte(byte(r)) && !strings.ContainsRune(`.[]"`, r) })
	if begins < 0 && at > maxTold {
		return false
	}
	before = before[:begins+1]
	return !sets(behind) && !memberTarget.MatchString(behind) && !elementTarget.MatchString(before) && (!together.MatchString(before) || !alike.MatchString(behind))
}
