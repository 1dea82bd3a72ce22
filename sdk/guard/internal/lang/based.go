package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// directory is an expression for the directory that code runs in or is in, or for one that it makes: some path, which isn't empty.
const directory = `(?:os\.getcwd\(\)|process\.cwd\(\)|process\.env\.PWD|__dirname|import\.meta\.dirname|\bDir\.pwd|\bDir\.mktmpdir|\b(?:Cwd::)?(?:get)?cwd\(\)|\btempfile\.mkdtemp\(\)|\bmkdtemp\(\)|\b[tb]\.TempDir\(\)|\bstr\(tmp_path\)|\bos\.tmpdir\(\)|\bos\.path\.dirname\(__file__\))`

var (
	// inDirectory is a path in such a directory, directoryOf what is set to one, and inVariable a path in what a variable holds.
	inDirectory = pattern.New(`(` + directory + `)\s*[+.]\s*"(\d+)"`)
	directoryOf = pattern.New(`([$@]?\b[A-Za-z_]\w*)\s*:?=\s*` + directory + `\s*(?:[;\n)]|$)`)
	// inJoined is the same of a function that puts paths together.
	inJoined   = pattern.New(`\b(?:os\.path|path\.posix|path|require\s*\(\s*"\d+"\s*\))\.(?:join|resolve)\s*\(\s*(` + directory + `)\s*,\s*("\d+"(?:\s*,\s*"\d+")*)\s*,?\s*\)`)
	inVariable = pattern.New(`(^|[^\w.$@])([$@]?[A-Za-z_]\w*)\s*[+.]\s*"(\d+)"`)
)

// maxBased is how many variables are followed that hold such a directory.
const maxBased = 16

// based makes one string of a directory and the path in it that is put behind: as if it stood there between quotes.
func (s *skeleton) based() {
	in := func(before, directory, path, otherwise string) string {
		text, ok := s.text(path)
		if !ok || !strings.HasPrefix(text, "/") || strings.Contains(text, "..") {
			return otherwise
		}
		return before + s.literal(shell.Item+text, directory+`+"`+path+`"`)
	}
	s.replace(inJoined, func(m []string) string {
		path := ""
		for _, part := range s.referenced(m[2]) {
			path += "/" + part.text
		}
		if reference := s.literal(path, ""); reference != "" {
			return m[1] + " + " + reference
		}
		return m[0]
	})
	s.replace(inDirectory, func(m []string) string { return in("", m[1], m[2], m[0]) })
	holds := map[string]bool{}
	for _, m := range directoryOf.FindAllStringSubmatch(s.worth(directoryOf)) {
		if len(holds) < maxBased && s.setOnce(m[1]) {
			holds[m[1]] = true
		}
	}
	if len(holds) > 0 {
		s.replace(inVariable, func(m []string) string {
			if !holds[m[2]] {
				return m[0]
			}
			return in(m[1], m[2], m[3], m[0])
		})
	}
}
