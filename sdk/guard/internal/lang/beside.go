package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// modules is where Node's code names another file, which it looks for beside its own.
	modules = pattern.New(`(?:\brequire(?:\.resolve)?|\bimport|\b(?:jest|vi)\.\w+)\s*\(\s*$|\b(?:from|import)\s*$`)
	// ownRequire is where the code makes itself another require.
	ownRequire  = pattern.New(`\bfunction\s+require\b|\brequire\s*=[^=]|[(,{]\s*require\s*[,)}:]`)
	newURL      = pattern.New(`\bnew\s+URL\s*\(\s*$`)
	ofThisFile  = pattern.New(`^\s*,\s*import\.meta\.url\s*\)`)
	besideRuby  = pattern.New(`\brequire_relative\s*\(?\s*$`)
	behindDir   = pattern.New(`^\s*,\s*(__dir__|File\.dirname\s*\(\s*__FILE__\s*\))\s*\)`)
	dirDot      = pattern.New(`(?:\b__DIR__|\bdirname\s*\(\s*__FILE__\s*\))\s*\.\s*$`)
	slashed     = pattern.New(`((?:pathlib\.)?Path\(\s*__file__\s*\)(?:\s*\.\s*(?:resolve|absolute)\(\s*\)|\s*\.\s*parent\b)*|[A-Za-z_]\w*)\s*/\s*$`)
	wholeName   = pattern.New(`^[A-Za-z_]\w*$`)
	joins       = names(`join resolve`)
	directories = names(`dirname path.dirname os.path.dirname File.dirname`)
	sameFile    = names(`Path pathlib.Path str os.path.abspath abspath os.path.realpath realpath os.path.normpath path.resolve path.normalize File.realpath File.expand_path`)
)

// maxHere is how deep calls and variables are followed that tell where the file of the code is.
const maxHere = 8

// beside says whether the string at a place of the code names a file from the directory on that the code's own file is in, or from
// one that is some levels above it: require("../a"), path.join(__dirname, "../a").
func (s *skeleton) beside(language string, at int) (up int, ok bool) {
	if !s.looks(maxTold) {
		return 0, false
	}
	before := s.code[max(0, at-maxTold):at]
	behind := s.code[at+1+strings.IndexByte(s.code[at+1:], '"')+1:]
	switch language {
	case "node":
		if modules.MatchString(before) {
			return 0, ends.MatchString(behind) && !ownRequire.MatchString(s.worth(ownRequire))
		}
		if newURL.MatchString(before) {
			return 0, ofThisFile.MatchString(behind)
		}
	case "ruby":
		if besideRuby.MatchString(before) || behindDir.MatchString(behind) {
			return 0, true
		}
	case "php":
		return 0, dirDot.MatchString(before)
	case "python":
		if m := slashed.FindStringSubmatch(before); m != nil {
			up, ok = s.level(m[1], 0)
			return up, ok && up >= 0
		}
	default:
		return 0, false
	}
	return s.joined(at)
}

// joined is beside for an argument of a call that joins it to a directory.
func (s *skeleton) joined(at int) (up int, ok bool) {
	bracket, comma := s.enclosing(at)
	if bracket < 0 || !comma || s.code[bracket] != '(' {
		return 0, false
	}
	receiver, name := callee(strings.TrimRight(s.code[:bracket], " \t"))
	if !joins[name] || receiver != "" && receiver != "path" && receiver != "os.path" && receiver != "File" {
		return 0, false
	}
	end := s.closing(bracket)
	args := elementsOf(s.code[bracket:end])
	if s.looked += end - bracket; len(args) < 2 || strings.TrimSpace(args[1]) != s.code[at:at+2+strings.IndexByte(s.code[at+1:], '"')] {
		return 0, false
	}
	for _, l := range s.referenced(strings.Join(args[2:], ",")) {
		if strings.Contains(l.text, "..") || strings.HasPrefix(l.text, "/") {
			return 0, false
		}
	}
	up, ok = s.level(args[0], 0)
	return up, ok && up >= 0
}

// level is how many levels above the directory of the code's file an expression leads; -1 is the file itself.
func (s *skeleton) level(expression string, depth int) (int, bool) {
	expression = strings.TrimSpace(expression)
	switch expression {
	case "__file__", "__filename", "__FILE__":
		if s.isSet(expression, 0) {
			return -1, true
		}
	case "__dirname":
		if s.isSet(expression, 0) {
			return 0, true
		}
	case "import.meta.filename", "fileURLToPath(import.meta.url)", "url.fileURLToPath(import.meta.url)":
		return -1, true
	case "import.meta.dirname", "import.meta.dir", "__dir__":
		return 0, true
	}
	if depth > maxHere || !s.looks(len(expression)) {
		return 0, false
	}
	for _, same := range []string{".resolve()", ".absolute()"} {
		if rest, ok := strings.CutSuffix(expression, same); ok {
			return s.level(rest, depth+1)
		}
	}
	if rest, ok := strings.CutSuffix(expression, ".parent"); ok {
		up, ok := s.level(rest, depth+1)
		return up + 1, ok
	}
	if open := strings.IndexByte(expression, '('); open > 0 && opening(expression) == open {
		up, ok := s.level(expression[open+1:len(expression)-1], depth+1)
		if directories[expression[:open]] {
			return up + 1, ok
		}
		return up, ok && sameFile[expression[:open]]
	}
	if !wholeName.MatchString(expression) || !s.isSet(expression, 1) {
		return 0, false
	}
	for place := range places(s.code, expression) {
		if value := s.code[place+len(expression):]; sets(value) {
			value, _, _ = strings.Cut(value[strings.IndexByte(value, '=')+1:], "\n")
			return s.level(strings.TrimRight(value, "; \t"), depth+1)
		}
	}
	return 0, false
}

// beginsBeside is how a string begins that names a file from a directory on. PHP only puts it behind the directory's name.
func beginsBeside(language string) string {
	if language == "php" {
		return "/"
	}
	return "."
}
