package lang

import (
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	characters = pattern.New(`\b(?:chr|String\s*\.\s*fromCharCode|string\.char)\s*\(\s*(\d+(?:\s*,\s*\d+)*)\s*\)`)
	separator  = pattern.New(`\bos\.(?:path\.)?sep\b|\b(?:posix)?path\.sep\b|\bFile::SEPARATOR\b|\bDIRECTORY_SEPARATOR\b|\bpackage\.config:sub\(1,\s*1\)`)
	// separated is the same within strings, and the home directory.
	separated = strings.NewReplacer("{os.sep}", "/", "{os.path.sep}", "/", "${path.sep}", "/", "#{File::SEPARATOR}", "/", "${os.homedir()}", "~", "${process.env.HOME}", "~", "#{Dir.home}", "~",
		"#{ENV['HOME']}", "~", `#{ENV["HOME"]}`, "~", "$ENV{HOME}", "~", "{$_SERVER['HOME']}", "~", "{os.environ['HOME']}", "~", `{os.environ["HOME"]}`, "~", "{Path.home()}", "~", "{pathlib.Path.home()}", "~")
	// itself is the interpreter that runs the code, as languages tell it.
	itself = pattern.New(`\bsys\.executable\b|\bprocess\.execPath\b`)
	// homeDir is the home directory, as languages tell it.
	homeDir = pattern.New(`(?:\bos\.environ|\bENV|\bprocess\.env|\$ENV|\$_SERVER|\$_ENV)\s*[\[{]\s*(?:"(\d+)"|HOME)\s*[\]}]|\bprocess\.env\.HOME\b|\b(?:os\.)?(?:getenv|environ\.get|ENV\.fetch)\s*\(\s*"(\d+)"[^()]*\)|\b(?:pathlib\.)?Path\.home\s*\(\s*\)|(?:\brequire\s*\(\s*"\d+"\s*\)|\bos)\.homedir\s*\(\s*\)|\bDir\.home\b(?:\(\))?`)
	// expanded are paths of Python with a tilde in the place of it, and divided those that are put together.
	expanded = pattern.New(`\b(?:os\.path\.)?expanduser\s*\(\s*"(\d+)"\s*\)|(?:\b(?:pathlib\.)?Path\s*\(\s*"(\d+)"\s*\)|"(\d+)")\.expanduser\s*\(\s*\)`)
	divided  = pattern.New(`(?:\b(?:pathlib\.)?Path\s*\(\s*"(\d+)"\s*\)|"(\d+)")\s*(?:/\s*"(\d+)"|\.\s*joinpath\s*\(\s*("\d+"(?:\s*,\s*"\d+")*)\s*\))`)
	joined   = pattern.New(`"(\d+)"\s*\.\s*join\s*\(\s*[\[(]\s*("\d+"(?:\s*,\s*"\d+")*)\s*,?\s*[\])]\s*\)`)
	joinedBy = pattern.New(`\[\s*("\d+"(?:\s*,\s*"\d+")*)\s*,?\s*\]\s*\.\s*join\b\s*\(?\s*(?:"(\d+)")?\s*\)?`)
	imploded = pattern.New(`\b(?:join|implode)\s*(?:\(\s*"(\d+)"\s*,\s*[\[(]?\s*("\d+"(?:\s*,\s*"\d+")*)\s*[\])]?\s*\)|\s"(\d+)"\s*,\s*[\[(]?\s*("\d+"(?:\s*,\s*"\d+")*)\s*[\])]?)`)
	// shellSplit are the words of a command.
	shellSplit = pattern.New(`\bshlex\.split\s*\(\s*("\d+")\s*\)`)
	// linesSplit are the lines of a string in Python, and linesApart the same in Node and Ruby.
	linesSplit = pattern.New(`"(\d+)"(?:\s*\.\s*strip\s*\(\s*\))?\s*\.\s*(?:splitlines\s*\(\s*\)|split\s*\(\s*"(\d+)"\s*\))`)
	linesApart = pattern.New(`"(\d+)"(?:\s*\.\s*(?:trim|strip)\s*(?:\(\s*\))?)?\s*\.\s*(?:(?:each_line|lines)\b(?:\s*\(\s*\))?|split\s*\(\s*"(\d+)"\s*\))`)
	reversed   = pattern.New(`"(\d+)"\s*(?:\[\s*::\s*-1\s*\]|\.\s*reverse\b(?:\s*\(\s*\))?)`)
	replaced   = pattern.New(`"(\d+)"\s*\.\s*(?:replace|replaceAll|tr|sub|gsub)\s*\(\s*"(\d+)"\s*,\s*"(\d+)"\s*\)`)
	// pathJoined are paths that are put together by the functions that there are for it.
	pathJoined = pattern.New(`\b((?:os\.path|posixpath|path|path\.posix|File)\.(?:join|resolve)|require\s*\(\s*"\d+"\s*\)\.(?:join|resolve))\s*\(\s*("\d+"(?:\s*,\s*"\d+")*)\s*,?\s*\)`)
	// bareJoined are the same functions where they were imported by their names.
	bareJoined = pattern.New(`(^|[^\w.])(join|resolve)\s*\(\s*("\d+"(?:\s*,\s*"\d+")+)\s*,?\s*\)`)
	// pickled are objects of Python in a string, which may be made by any function.
	pickled = pattern.New(`\b(?:c?[pP]ickle|_pickle|dill|marshal)\.loads\s*\(\s*"\d+"`)
)

// made puts strings in the place of what makes them of constants.
func (s *skeleton) made(language string) {
	s.replace(characters, func(m []string) string {
		var text strings.Builder
		for _, number := range strings.Split(m[1], ",") {
			code, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
			if err != nil {
				return m[0]
			}
			text.WriteRune(rune(code))
		}
		return s.literal(text.String(), m[0])
	})
	join := func(separator, parts, otherwise string) string {
		between, _ := s.text(separator)
		var words []string
		for _, l := range s.referenced(parts) {
			words = append(words, l.text)
		}
		return s.literal(strings.Join(words, between), otherwise)
	}
	for i, l := range s.literals {
		if strings.Contains(l.text, "{") {
			s.literals[i].text = separated.Replace(l.text)
		}
	}
	s.replace(separator, func(m []string) string { return s.literal("/", m[0]) })
	s.replace(itself, func(m []string) string {
		if strings.HasPrefix(m[0], "sys") {
			return s.literal("python3", m[0])
		}
		return s.literal("node", m[0])
	})
	s.replace(homeDir, func(m []string) string {
		if name, ok := s.text(m[1] + m[2]); ok && name != "HOME" && name != "USERPROFILE" {
			return m[0]
		}
		return s.literal("~", m[0])
	})
	switch language {
	case "python":
		s.divide()
		s.linesOf(linesSplit)
		s.replace(shellSplit, func(m []string) string { return m[1] })
		s.replace(joined, func(m []string) string { return join(m[1], m[2], m[0]) })
	case "node", "ruby":
		s.linesOf(linesApart)
		s.replace(joinedBy, func(m []string) string { return join(m[2], m[1], m[0]) })
	case "perl", "php":
		s.replace(imploded, func(m []string) string { return join(m[1]+m[3], m[2]+m[4], m[0]) })
	}
	path := func(function, list, otherwise string) string {
		var parts []string
		for _, l := range s.referenced(list) {
			if strings.HasPrefix(l.text, "/") && (language == "python" || strings.HasSuffix(function, "resolve")) {
				parts = parts[:0] // it begins anew
			}
			parts = append(parts, l.text)
		}
		return s.literal(strings.Join(parts, "/"), otherwise)
	}
	s.replace(pathJoined, func(m []string) string { return path(m[1], m[2], m[0]) })
	if language == "python" || language == "node" {
		s.replace(bareJoined, func(m []string) string { return m[1] + path(m[2], m[3], m[2]+"("+m[3]+")") })
	}
	if language != "perl" && language != "php" { // whose dot puts strings together
		s.replace(reversed, func(m []string) string {
			text, _ := s.text(m[1])
			runes := []rune(text)
			slices.Reverse(runes)
			return s.literal(string(runes), m[0])
		})
	}
	s.replace(replaced, func(m []string) string {
		text, ok := s.text(m[1])
		old, too := s.text(m[2])
		by, three := s.text(m[3])
		if !ok || !too || !three || old == "" || len(text)*(len(by)+1) > maxConstant {
			return m[0]
		}
		return s.literal(strings.ReplaceAll(text, old, by), m[0])
	})
}

// maxLinesOf is how many lines of a string are made a list of.
const maxLinesOf = 32

// linesOf puts the list of its lines in the place of a string that code takes apart into them.
func (s *skeleton) linesOf(apart *pattern.Pattern) {
	s.replace(apart, func(m []string) string {
		text, ok := s.text(m[1])
		if separator, too := s.text(m[2]); !ok || m[2] != "" && (!too || separator != "\n") || strings.Count(text, "\n") > maxLinesOf || strings.Contains(text, "${") || strings.Contains(text, "#{") {
			return m[0]
		}
		if strings.Contains(m[0], "strip") || strings.Contains(m[0], "trim") {
			text = strings.TrimSpace(text)
		}
		var lines []string
		for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			reference := s.literal(line, "")
			if reference == "" {
				return m[0]
			}
			lines = append(lines, reference)
		}
		return "[" + strings.Join(lines, ",") + "]"
	})
}

// divide puts paths together as Python's pathlib does.
func (s *skeleton) divide() {
	s.replace(expanded, func(m []string) string {
		if text, _ := s.text(m[1] + m[2] + m[3]); text != "~" {
			return m[0] // a path as it stands
		}
		return `"` + m[1] + m[2] + m[3] + `"`
	})
	for range maxDivided {
		if !strings.Contains(s.code, "/") && !strings.Contains(s.code, "joinpath") {
			return
		}
		before := s.code
		s.replace(divided, func(m []string) string {
			first, _ := s.text(m[1] + m[2])
			rest := m[4]
			if m[3] != "" {
				rest = `"` + m[3] + `"`
			}
			for _, part := range s.referenced(rest) {
				if strings.HasPrefix(part.text, "/") {
					first = part.text
				} else {
					first += "/" + part.text
				}
			}
			return s.literal(first, m[0])
		})
		if s.code == before {
			return
		}
	}
}

// maxDivided is how many parts a path may be put together of.
const maxDivided = 8

// literal is the reference to a string that the code makes; what makes it, if there are too many such strings or it is too long.
func (s *skeleton) literal(text, otherwise string) string {
	if len(text) > maxConstant || len(s.literals) > maxLiterals {
		return otherwise
	}
	s.literals = append(s.literals, literal{text: text})
	return `"` + strconv.Itoa(len(s.literals)-1) + `"`
}

// maxLiterals is how many strings code may have for others to be made of them.
const maxLiterals = 4096
