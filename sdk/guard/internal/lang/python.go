package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	importAs   = pattern.New(`\bimport\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*?(os|subprocess|shutil|pty|commands|pathlib|posix|importlib|builtins)\s+as\s+(\w+)`)
	importFrom = pattern.New(`\bfrom\s+(os|subprocess|shutil|pty|commands|posix|importlib|builtins|shlex)\s+import\s+([\w ,]+|\([\w ,\n]+\))`)
	importAll  = pattern.New(`\bfrom\s+(os|subprocess|shutil|posix|pty)\s+import\s*\*`)
	// bracketedName is a module in brackets of its own.
	bracketedName = pattern.New(`\(\s*(os|subprocess|shutil|posix|pty)\s*\)\s*\.`)
)

// maxRenamed is how many names that are imported are followed.
const maxRenamed = 16

// imports gives the functions that Python code has imported by another name their full names again. It says whether they are
// few enough.
func (s *skeleton) imports() bool {
	renamed := 0
	for _, m := range importAs.FindAllStringSubmatch(s.worth(importAs)) {
		if renamed++; renamed > maxRenamed {
			return false
		}
		s.renameModule(m[2], m[1])
	}
	for _, m := range importFrom.FindAllStringSubmatch(s.worth(importFrom)) {
		for _, item := range strings.Split(strings.Trim(m[2], "()"), ",") {
			if renamed++; renamed > maxRenamed {
				return false
			}
			words := strings.Fields(item)
			switch {
			case len(words) == 1:
				s.renameFunction(words[0], m[1]+"."+words[0])
			case len(words) == 3 && words[1] == "as":
				s.renameFunction(words[2], m[1]+"."+words[0])
			}
		}
	}
	for _, m := range importAll.FindAllStringSubmatch(s.worth(importAll)) {
		for name := range starters {
			if strings.Contains(s.code, name) {
				s.renameFunction(name, m[1]+"."+name)
			}
		}
	}
	return true
}

// renameFunction gives a function that was imported its full name, wherever it isn't a variable that is set.
func (s *skeleton) renameFunction(name, by string) {
	s.code, s.pairs = substitute(s.code, name, func(behind string) (string, bool) { return by, !sets(behind) }), nil
}

// reaching are modules by which a program reaches others, and the machine.
var reaching = names(`os posix nt sys subprocess shutil builtins ctypes cffi pty importlib runpy code codeop pickle multiprocessing asyncio concurrent signal socket commands popen2 imp site pkgutil types operator`)

// moduleBegins matches a name of a module up to its first dot, or its end.
var moduleBegins = pattern.New(`^([A-Za-z_]\w*)(\.|$)`)

// importsPlain says whether the arguments of import_module name modules that are none of those by which a program reaches the machine:
// all of their names are known, or what package they are in.
func (s *skeleton) importsPlain(args string) bool {
	if m := plainModule.FindStringSubmatch(args); m != nil {
		text, _ := s.text(m[1])
		begins := moduleBegins.FindStringSubmatch(text)
		return begins != nil && !reaching[begins[1]] && (begins[2] == "." || m[2] != "+" && !strings.ContainsAny(text, "{%"))
	}
	m := firstWord.FindStringSubmatch(args)
	if m == nil {
		return false
	}
	h := handing{s: s, seen: map[string]bool{}, take: func(args string) bool {
		return plainModule.MatchString(args) && s.importsPlain(args)
	}}
	return h.variable(m[1])
}

// plainModule is a module's name as an argument, or what it begins with.
var plainModule = pattern.New(`^\s*\(\s*f?"(\d+)"\s*([+),])`)
