package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// These match simple programs of Python that delete the directory that they have made, which the second one gives a name.
var (
	ownMade  = pattern.New(`\bshutil\.rmtree\(\s*tempfile\.mkdtemp\(\s*\)\s*\)`)
	renames  = pattern.New(`\bimport\b[^\n;]*\bas\b`)
	ownNamed = pattern.New(`(?:^|[;\n])[ \t]*(\w+)\s*=\s*(?:(?:pathlib\.)?Path\()?tempfile\.mkdtemp\([^()\n]*\)\)?[ \t]*(?:[;\n]|$)`)

	// makesOwn is how Node's code makes a directory of its own, and ownMaker where the code makes that function itself, or another.
	makesOwn = pattern.New(`^\s*=\s*(?:await\s+)?(?:(?:fs|fsp|fsPromises|fs\.promises)\s*\.\s*)?(?:mkdtempSync|mkdtemp)\s*\(`)
	ownMaker = pattern.New(`\bfunction\s+mkdtemp|\bmkdtemp(?:Sync)?\s*(?:[=:]|\([^()]*\)\s*\{)|\bas\s+mkdtemp|\b(?:fs|fsp|fsPromises)\s*=\s*\{|\brename|\bchild_process|\bmove`)
)

// ownTree says whether all that code of Python deletes is a directory that it has made itself, as far as that is simple to tell.
func ownTree(code string) bool {
	if !strings.Contains(code, "mkdtemp") || strings.Count(code, "rmtree") != 1 || strings.Count(code, "mkdtemp") != 1 || strings.Count(code, "tempfile") != 2 {
		return false
	}
	if moves(code) {
		return false
	}
	if ownMade.MatchString(code) {
		return true
	}
	m := ownNamed.FindStringSubmatch(code)
	if m == nil || !pattern.New(`\bshutil\.rmtree\(\s*`+m[1]+`\s*[,)]`).MatchString(code) {
		return false
	}
	set := 0
	for at := range places(code, m[1]) {
		behind := code[at+len(m[1]):]
		if sets(behind) || alike.MatchString(behind) && together.MatchString(code[max(0, at-maxTold):at]) {
			set++
		}
	}
	return set == 1 && !pattern.New(`\b(?:for\s+[^;\n]*|with\s[^;\n]*\bas\s+[^;\n]*|global\s+[^;\n]*|nonlocal\s+[^;\n]*|del\s+[^;\n]*|import\s+[^;\n]*|def\s+\w+\s*\([^()]*|lambda\b[^:\n]*)\b`+m[1]+`\b`).MatchString(code) && !strings.Contains(code, ":=")
}

// moves says whether code of Python may move something into a directory, or make its names mean something else.
func moves(code string) bool {
	for _, word := range []string{"move", "rename", "os.replace", "exec", "eval", "globals", "locals", "setattr", "class "} {
		if strings.Contains(code, word) {
			return true
		}
	}
	return renames.MatchString(code) || strings.Contains(code, "Path") && strings.Contains(code, ".replace")
}

// deletesOwn says whether the arguments of a call of Python's begin with a directory that the code has made for itself, or with one in
// it.
func (s *skeleton) deletesOwn(at int) bool {
	if at >= len(s.code) || s.code[at] != '(' || !s.looks(len(s.code)) || moves(s.code) {
		return false
	}
	elements := elementsOf(s.region(at))
	if len(elements) > 0 {
		name := strings.TrimSpace(elements[0])
		for place := range places(s.code, name) {
			if behind := s.code[place+len(name):]; !sets(behind) && s.setAmong(s.code[max(0, place-maxTold):place], behind) {
				return false
			}
		}
	}
	var c change
	return len(elements) > 0 && s.directory(elements[0], at, 0, &c) && (c.dir == own || strings.HasPrefix(c.dir, own+"/"))
}

// removesTree says whether a call of Node's deletes recursively.
func (s *skeleton) removesTree() bool {
	for _, m := range nodeTree.FindAllStringIndex(s.worth(nodeTree)) {
		args := s.region(m[1] - 1)
		if s.ownDirectory(args) {
			continue
		}
		if strings.Contains(s.expand(args), "recursive") || !s.looks(len(args)) || s.recursiveOption(args) {
			return true
		}
	}
	return false
}

// ownDirectory says whether a call's first argument is a directory that the code has made for itself, and that nothing is moved to.
func (s *skeleton) ownDirectory(args string) bool {
	elements := elementsOf(args)
	if len(elements) == 0 || !s.looks(2*len(s.code)) || ownMaker.MatchString(s.all()) {
		return false
	}
	name := strings.TrimSpace(elements[0])
	if !wholeName.MatchString(name) || !s.isSet(name, 1) {
		return false
	}
	for place := range places(s.code, name) {
		if behind := s.code[place+len(name):]; sets(behind) {
			return makesOwn.MatchString(behind)
		}
	}
	return false
}

// recursiveOption says whether the options of a call are not all written down there, and the code speaks of being recursive.
func (s *skeleton) recursiveOption(args string) bool {
	elements := elementsOf(args)
	if len(elements) < 2 || !strings.Contains(s.all(), "recursive") {
		return false
	}
	options := strings.TrimSpace(elements[1])
	return options != "" && (options[0] != '{' || strings.Contains(options, "...") || strings.Contains(options, "["))
}
