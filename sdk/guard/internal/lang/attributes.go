package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// basesOf are those of a class of Python's.
	basesOf = pattern.New(`(?m)^[ \t]*class[ \t]+\w+[ \t]*\(([^()]*)\)`)
	// inert are classes that add no attributes to others.
	inert = names("object ABC abc.ABC Exception Protocol Generic")
)

// constructor is the name of the method that makes objects.
const constructor = "__init__"

// attribute says whether all is known that an attribute of the objects of the code's classes may hold.
func (h *handing) attribute(key string) bool {
	s := h.s
	if s.makerOf("self") != "self" || findsClasses.MatchString(s.code) {
		return false
	}
	for _, m := range basesOf.FindAllStringSubmatch(s.code) {
		for base := range strings.SplitSeq(m[1], ",") {
			if base = strings.TrimSpace(base); base != "" && !inert[base] && !strings.Contains(s.code, "class "+base+":") && !strings.Contains(s.code, "class "+base+"(") {
				return false
			}
		}
	}
	before := len(h.effects) + h.taken
	for place := range places(s.code, key) { // of the class itself
		behind := s.code[place+len(key):]
		line := s.code[strings.LastIndexByte(s.code[:place], '\n')+1 : place]
		switch {
		case strings.TrimSpace(line) != "":
		case strings.HasPrefix(strings.TrimLeft(behind, " \t"), ":"):
			if !h.madeOf(key, place) {
				return false
			}
		case plainlySet.MatchString(behind):
			if value, ok := s.value(place + len(key)); !ok || !h.starts("("+strings.TrimSpace(value)+")") || !h.madeOf(key, place) {
				return false
			}
		case sets(behind):
			return false
		}
	}
	return h.given(key) && len(h.effects)+h.taken > before
}

// constructed follows what those hand to a parameter of the method that makes objects who make some: CLASS(ARGUMENTS).
func (h *handing) constructed(f function, param int) bool {
	s := h.s
	if strings.Count(s.code, constructor) != strings.Count(s.code, "def "+constructor) {
		return false // it is called by its name
	}
	for _, m := range basesOf.FindAllStringSubmatch(s.code) {
		for range places(m[1], f.class) {
			return false // so does who makes an object of that class
		}
	}
	for place := range places(s.code, f.class) {
		behind := s.code[place+len(f.class):]
		if !strings.HasPrefix(behind, "(") || strings.HasSuffix(strings.TrimRight(s.code[:place], " \t"), "class") {
			continue
		}
		value := ""
		for i, element := range elementsOf(s.region(place + len(f.class))) {
			switch name, given, named := strings.Cut(element, "="); {
			case strings.HasPrefix(strings.TrimSpace(element), "*"):
				return false
			case named && strings.TrimSpace(name) == f.params[param+1].name:
				value = given
			case i == param && !named:
				value = element
			}
		}
		if value == "" || !h.starts("("+strings.TrimSpace(value)+")") {
			return false
		}
	}
	return true
}
