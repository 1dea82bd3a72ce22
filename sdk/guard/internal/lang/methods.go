package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// classes are those that code of Python defines.
	classes = pattern.New(`(?m)^[ \t]*class[ \t]+(\w+)`)
	// methodExec is a method of that name, and methodHead what stands before its name.
	methodExec = pattern.New(`\n[ \t]+(?:async[ \t]+)?def[ \t]+exec\s*\(\s*self\b`)
	methodHead = pattern.New(`\n[ \t]+(?:async[ \t]+)?def$`)
	// instance is what a method is called of: a variable, or what a class makes just then.
	instance = pattern.New(`(?:^|[^\w.)\]])(\w+)[ \t]*(\([^()]*\))?\.$`)
	// findsClasses is where code may come by a class, or by what makes its objects, otherwise than by its name.
	findsClasses = pattern.New(`\b__(?:new|class|getattr|getattribute|dict|get|init_subclass|class_getitem|subclasses|mro|self|func|call)__\b|\b(?:metaclass|cls|globals|locals|vars|setattr|getattr|eval|exec|inspect|gc)\b|\btype[ \t]*\(|\bmodules\b`)
)

// objects are what is known of the classes of code, and of the variables that hold objects of them.
type objects struct {
	plain  map[string]bool
	makers map[string]string
}

// isPlain says whether code does nothing with a class of its own but to make objects: then a method is called of one, and nobody else
// can say what its first argument is.
func (s *skeleton) isPlain(class string) bool {
	plain, known := s.objects.plain[class]
	if !known {
		if s.objects.plain == nil {
			s.objects.plain = map[string]bool{}
		}
		plain = s.onlyMakes(class)
		s.objects.plain[class] = plain
	}
	return plain
}

func (s *skeleton) onlyMakes(class string) bool {
	if class == "" || !s.looks(len(s.code)) || findsClasses.MatchString(s.code) {
		return false
	}
	end := 0 // of the last definition
	for place := range mentions(s.code, class) {
		behind := s.code[place+len(class):]
		head, defines := strings.CutSuffix(strings.TrimRight(s.code[:place], " \t"), "class")
		if !strings.HasPrefix(behind, "(") && (!defines || !strings.HasPrefix(behind, ":")) {
			return false
		}
		if defines {
			if last := strings.LastIndex(head[end:], "def "); last >= 0 {
				end += last
			}
			if s.decorated(head[end:]) {
				return false
			}
			end = len(head)
		}
	}
	return true
}

// calledOf says whether a method of a class is called where this stands before its name; other says that something else is: a function
// of subprocess, or a method of another class. If neither is so it isn't known what is called.
func (s *skeleton) calledOf(class, before string) (called, other bool) {
	of := instance.FindStringSubmatch(before)
	if of == nil || len(of[1]) > maxTold/2 {
		return false, false // the name may begin further on the left
	}
	switch name := of[1]; {
	case of[2] != "":
		return name == class, false
	case name == "subprocess":
		return false, true
	case name == "self":
		return s.makerOf(name) == "self", false
	default:
		maker := s.makerOf(name)
		return maker == class, maker != "" && maker != class && s.isPlain(maker)
	}
}

// makerOf is the class whose object a variable is set to, and to nothing else; "" if there is none. That of self is self, as long as it
// is a parameter and nothing else.
func (s *skeleton) makerOf(variable string) string {
	maker, known := s.objects.makers[variable]
	if !known {
		if s.objects.makers == nil {
			s.objects.makers = map[string]string{}
		}
		switch {
		case !s.looks(len(s.code)):
		case variable != "self":
			maker = s.madeBy(variable)
		case !s.replaced(variable):
			maker = variable
		}
		s.objects.makers[variable] = maker
	}
	return maker
}

func (s *skeleton) madeBy(variable string) (class string) {
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

// replaced says whether a name is set to something else than a function is given.
func (s *skeleton) replaced(name string) bool {
	for place := range places(s.code, name) {
		before := s.code[max(0, place-maxTold):place]
		if sets(s.code[place+len(name):]) || renamedAs.MatchString(before) || loopBegins.MatchString(before) {
			return true
		}
	}
	return false
}

// ownMethod says whether exec at a place is a method that a class of the code defines, or a call of one.
func (s *skeleton) ownMethod(place int) bool {
	before := strings.TrimRight(s.code[max(0, place-maxTold):place], " \t")
	if strings.Contains(s.code, "builtins") || !methodExec.MatchString(s.code) {
		return false
	}
	return methodHead.MatchString(before) || instance.MatchString(before) && !everywhere(before)
}
