package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// classes are those that code of Python defines.
	classes = pattern.New(`(?m)^[ \t]*class[ \t]+(\w+)`)
	// instance is what a method is called of: a variable, or what a class makes just then.
	instance = pattern.New(`(?:^|[^\w.)\]])(\w+)[ \t]*(\([^()]*\))?\.$`)
	// findsClasses is where code may come by a class, or by what makes its objects, otherwise than by its name.
	findsClasses = pattern.New(`\b__(?:new|class|getattr|getattribute|dict|get|init_subclass|class_getitem|subclasses|mro|self|func|call)__\b|\b(?:metaclass|cls|globals|locals|vars|setattr|getattr|eval|exec|inspect|gc)\b|\btype[ \t]*\(|\bmodules\b`)
	// decorators stand before a definition that is handed to something else first; definitions are where they end.
	decorators  = pattern.New(`(?m)^[ \t]*@[ \t]*([\w.]*)`)
	definitions = pattern.New(`(?m)^[ \t]*(?:async[ \t]+)?(?:def|class)\b`)
)

// harmless are decorators that leave a function, or a class, what it is.
var harmless = map[string]bool{"staticmethod": true, "override": true, "overload": true, "lru_cache": true, "functools.lru_cache": true,
	"cache": true, "functools.cache": true, "dataclass": true, "dataclasses.dataclass": true}

// decorated says whether something else may be made of what is defined at a place.
func (s *skeleton) decorated(at int) bool {
	if s.language != "python" {
		return false
	}
	before := s.code[:at]
	if defined := definitions.FindAllStringIndex(before); len(defined) > 0 {
		before = before[defined[len(defined)-1][1]:]
	}
	for _, m := range decorators.FindAllStringSubmatch(before) {
		if name := m[1]; !harmless[name] || s.replaced(name) || strings.Contains(s.code, "def "+name) {
			return true
		}
	}
	return false
}

// methodAt is the class whose objects a function is a method of that is defined at a place with these parameters: in Python its first
// argument is the object that it is called of. False for a function of none.
func (s *skeleton) methodAt(at int, params []string) (class string, ok bool) {
	if s.language != "python" || strings.TrimSpace(params[0]) != "self" {
		return "", false
	}
	for _, c := range classes.FindAllStringSubmatchIndex(s.code[:at]) {
		class = s.code[c[2]:c[3]]
	}
	return class, true
}

// isPlain says whether code does nothing with a class of its own but to make objects: then a method is called of one, and nobody else
// can say what its first argument is.
func (s *skeleton) isPlain(class string) bool {
	if class == "" || findsClasses.MatchString(s.code) {
		return false
	}
	for place := range mentions(s.code, class) {
		if !strings.HasPrefix(s.code[place+len(class):], "(") && !strings.HasPrefix(s.code[place+len(class):], ":") {
			return false
		}
		if before := strings.TrimRight(s.code[:place], " \t"); strings.HasSuffix(before, "class") {
			if s.decorated(len(before) - len("class")) {
				return false
			}
		} else if strings.HasPrefix(s.code[place+len(class):], ":") {
			return false
		}
	}
	return true
}

// calledOf says whether a method of a class is called where this stands before its name; other says that something else is: a function
// of subprocess, or a method of another class. If neither is so it isn't known what is called.
func (s *skeleton) calledOf(class, before string) (called, other bool) {
	of := instance.FindStringSubmatch(before)
	if of == nil {
		return false, false
	}
	switch name := of[1]; {
	case of[2] != "":
		return name == class, false
	case name == "subprocess":
		return false, true
	case name == "self":
		return !s.replaced(name), false
	default:
		maker := s.makerOf(name)
		return maker == class, maker != "" && maker != class && s.isPlain(maker)
	}
}

// makerOf is the class whose object a variable is set to, and to nothing else; "" if there is none.
func (s *skeleton) makerOf(variable string) (class string) {
	for place := range places(s.code, variable) {
		behind := s.code[place+len(variable):]
		if rebound.MatchString(behind) || renamedAs.MatchString(s.code[max(0, place-maxTold):place]) || s.gets(place, variable) {
			return ""
		}
		if !sets(behind) {
			continue
		}
		value, ok := s.value(place + len(variable))
		name, arguments, made := strings.Cut(strings.TrimSpace(value), "(")
		if !ok || !made || !plainlySet.MatchString(behind) || strings.IndexByte(arguments, ')') != len(arguments)-1 || class != "" && name != class {
			return ""
		}
		class = name
	}
	return class
}

// replaced says whether a parameter is set to something else.
func (s *skeleton) replaced(variable string) bool {
	for place := range places(s.code, variable) {
		if sets(s.code[place+len(variable):]) || renamedAs.MatchString(s.code[max(0, place-maxTold):place]) || loopBegins.MatchString(s.code[max(0, place-maxTold):place]) {
			return true
		}
	}
	return false
}
