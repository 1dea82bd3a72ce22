package lang

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// changesElements is code that may change a list, by whatever name it goes there.
	changesElements = pattern.New(`\]\s*(?:[-+*/|&^%]|//|\*\*|<<|>>|\|\||\?\?)?=(?:[^=>~]|$)|\]\s*,[^=\n;()]*=(?:[^=>~]|$)|\]\s+in\b|\bdel\s|\b(?:insert|unshift|splice|__\w+__|setitem|setslice|assign|fill|copyWithin|shuffle|reverse|sort|pop|popleft|appendleft|shift|clear|remove|set|defineProperty|rotate|heap\w*|prototype)\b|\blist\s*\.`)
	// elementSet is what stands behind an element that is set, and elementTarget what stands before one that a loop, with or del changes.
	elementSet    = pattern.New(`^\s*(?:(?:[-+*/|&^%]|//|\*\*|<<|>>|\|\||\?\?)?=(?:[^=>~]|$)|,[^=\n;()]*[^=!<>]=(?:[^=>~]|$)|\+\+|--)`)
	elementTarget = pattern.New(`(?:\bfor\s*\(?\s*(?:(?:const|let|var)\s+)?|\bas|\bdel|\bdelete|\+\+|--)\s*$`)
	// fromEnd is what stands behind a list of which elements count from its end, and appends is code that may put something there.
	fromEnd = pattern.New(`^\s*(?:\[\s*-|\[[^\[\]:]*:[^\[\]:]*:\s*-|\.\s*(?:at|slice)\s*\(\s*-)`)
	appends = pattern.New(`\b(?:append|push|extend|concat)\s*\(\s*(?:[^"\s\[]|\[\s*[^"\s\]])|\+=`)
	// copying are the members of a list that leave it as it is.
	copying = names(`index count copy join slice concat map filter includes indexOf lastIndexOf forEach some every keys entries values length find findIndex reduce flat flatMap at toString`)
	// lookingAt are functions that leave a list as it is which they get.
	lookingAt = names(`run call check_call check_output Popen getoutput system popen execv execvp execve execvpe spawnv spawnvp spawnve spawn spawnSync execFile execFileSync exec execSync create_subprocess_exec
		len print str repr list tuple set frozenset sorted enumerate zip map filter any all join quote format log info debug warning warn error stringify isinstance type iter sum min max bool dumps from isArray console`)
	// reading are words behind which a list is only looked at.
	reading = names(`in of if elif while not and or is assert unless until when`)
)

// maxNames is how many names a list is followed by that functions of the code get.
const maxNames = 4

// unchanged says whether a list that a variable holds stays as the code shows it: what changes it is among what grown follows.
func (s *skeleton) unchanged(name string) bool { return s.leaves([]string{name}) }

// leaves says the same of the last of several names for a list.
func (s *skeleton) leaves(list []string) bool {
	if s.language != "python" && s.language != "node" {
		return true
	}
	name := list[len(list)-1]
	byOthers := slices.ContainsFunc(changesElements.FindAllStringIndex(s.worth(changesElements)), func(m []int) bool {
		return !strings.HasSuffix(s.code[:m[0]], name+".") && !s.isArgument(m[0])
	})
	for place := range places(s.code, name) {
		if !s.looks(maxTold) {
			return false
		}
		before, behind := strings.TrimRight(s.code[max(0, place-maxTold):place], " \t"), s.code[place+len(name):]
		m := memberOf.FindStringSubmatch(behind)
		switch next := strings.TrimLeft(behind, " \t"); {
		case fromEnd.MatchString(behind) && appends.MatchString(s.worth(appends)):
			return false
		case sets(behind), len(list) == 1 && setElement.MatchString(behind):
		case strings.HasPrefix(next, "["):
			end := closingIn(next)
			if !s.looks(end) || elementSet.MatchString(next[end:]) || elementTarget.MatchString(before) {
				return false
			}
		case m != nil && (storing[m[1]] || reordering[m[1]]):
			if !strings.HasPrefix(strings.TrimLeft(behind[len(m[0]):], " \t"), "(") {
				return false // its method goes by another name
			}
		case m != nil:
			if !copying[m[1]] {
				return false
			}
		case byOthers && !strings.HasSuffix(before, "*") && !strings.HasSuffix(before, "...") && !s.onlyLooks(list, place, before, next):
			return false
		}
	}
	return true
}

// isArgument says whether the bracket at a place ends an argument of a call that others stand behind, which may have names: f(a[0], b=1)
// sets no element.
func (s *skeleton) isArgument(at int) bool {
	if s.code[at] != ']' || !strings.HasPrefix(strings.TrimLeft(s.code[at+1:], " \t\n"), ",") || !s.looks(at) {
		return false
	}
	bracket, _ := s.enclosing(opening(s.code[:at+1]))
	if bracket < 0 || s.code[bracket] != '(' {
		return false
	}
	_, name := callee(s.code[:bracket])
	return name != ""
}

// onlyLooks says whether what gets a list at a place leaves it as it is.
func (s *skeleton) onlyLooks(list []string, place int, before, behind string) bool {
	word := wordBefore(before + " ")
	bracket, _ := s.enclosing(place)
	switch {
	case reading[word], strings.HasPrefix(behind, "+"), strings.HasSuffix(before, "+"):
		return true
	case bracket < 0 || s.code[bracket] != '(' || !s.looks(len(s.code)/4):
		return false
	}
	_, function := callee(strings.TrimRight(s.code[:bracket], " \t"))
	defined := false
	for _, d := range defines.FindAllStringSubmatchIndex(s.code) {
		g := pattern.Groups(s.code, d)
		if g[1]+g[3]+g[5]+g[10] != function {
			continue
		}
		defined = true
		if bracket >= d[0] && bracket < d[1] {
			continue // it is one of its parameters
		}
		for _, param := range strings.Split(g[2]+g[4]+g[6]+g[7]+g[11], ",") {
			param, _, _ = strings.Cut(param, ":")
			param, _, _ = strings.Cut(param, "=")
			param = strings.TrimLeft(strings.TrimSpace(param), "*.")
			if param == "" || slices.Contains(list, param) {
				continue
			}
			if len(list) == maxNames || !s.leaves(append(list[:len(list):len(list)], param)) {
				return false
			}
		}
	}
	return defined || lookingAt[function] && (s.language != "node" || function != "call" && function != "set") // of which one calls any function there, and one sets members
}
