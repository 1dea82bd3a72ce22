package lang

import "github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"

var (
	// partials are functions of Python's with nothing but options given beforehand, and promised what Node makes a function that gives a
	// promise of.
	partials = pattern.New(`\b(?:functools\s*\.\s*)?partial\s*\(\s*([A-Za-z_][\w.]*)\s*((?:,\s*[A-Za-z_]\w*\s*=\s*(?:[A-Za-z_][\w.]*|"\d+"|\d+)\s*)*,?\s*)\)`)
	promised = pattern.New(`(?:\b[A-Za-z_]\w*\s*\.\s*|\brequire\s*\(\s*"\d+"\s*\)\s*\.\s*|\b)promisify\s*\(\s*((?:require\s*\(\s*"\d+"\s*\)\s*\.\s*)?[A-Za-z_][\w.]*)\s*\)`)
	// takesCommand are options that are a part of the command itself.
	takesCommand = pattern.New(`\b(?:args|executable|command|cmd|path|file|input|env|cwd|stdin|preexec_fn)\s*=`)
	// ownAdapter is where code defines a function of such a name itself.
	ownAdapter = pattern.New(`\b(?:def|function|class)\s+(?:partial|promisify)\b|\b(?:partial|promisify)\s*(?:=[^=]|:=|\bfor\b|,[^()]*\)\s*=>)|\bas\s+partial\b|\b(?:partial|promisify)\s+as\b|\bpromisify\s*:`)
)

// adapts takes functions for themselves that are given on with options, or as ones that give promises: they are called by the same arguments.
func (s *skeleton) adapts() {
	switch {
	case s.language == "python" && partials.MatchString(s.worth(partials)):
		if ownAdapter.MatchString(s.code) {
			return
		}
		s.code, s.pairs = partials.ReplaceAllStringFunc(s.code, func(call string) string {
			m := partials.FindStringSubmatch(call)
			if takesCommand.MatchString(m[2]) {
				return call
			}
			return m[1]
		}), nil
	case s.language == "node" && promised.MatchString(s.worth(promised)) && !ownAdapter.MatchString(s.code):
		s.code, s.pairs = promised.ReplaceAllString(s.code, "$1"), nil
	}
}
