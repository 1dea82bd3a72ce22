package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// Tests name functions that they have put something else in the place of, to see how they would have been called.

var (
	// asked is what stands behind such a function where it is asked, or told what to do, and not called.
	asked = pattern.New(`^\s*(?:\.\s*(?:assert_\w+|call_args|call_args_list|call_count|called|mock_calls|method_calls|side_effect|return_value|reset_mock)\b|=[^=>])`)
	// parameter is what stands before a parameter of a function of Python's, and behindParameter what does behind it.
	parameter       = pattern.New(`\bdef\s+\w+\s*\((?:[^()]*,)?\s*$`)
	behindParameter = pattern.New(`^\s*[,):=]`)
	// bound to a name by a block, as with mock.patch("a.b") as b.
	boundAs = pattern.New(`\bpatch(?:\.\w+)?\([^()]*\)\s+as\s+$`)
	// received is what stands before the name of a function that RSpec waits for, and expected before one that a test of Node's looks at.
	received = pattern.New(`\b(?:receive|have_received)\(\s*:$`)
	expected = pattern.New(`\b(?:expect|(?:vi|jest)\.mocked)\s*\(\s*[\w.]*$`)
	// matcher is what stands behind the latter, and ownTest where the code makes such functions itself.
	matcher = pattern.New(`^[\s)]*\.\s*(?:to[A-Z]|not\b|resolves\b|rejects\b|mock[A-Z])`)
	ownTest = pattern.New(`\b(?:function|def|const|let|var)\s+(?:self\.)?(?:expect|receive|have_received|vi|jest)\b|\b(?:expect|vi|jest)\s*=[^=]|\b(?:receive|have_received)\s*=[^=]|\bdefine_method\b|\b\w+\s+as\s+(?:expect|vi|jest)\b`)
)

// named is the first name that a pattern finds in the code, where that is more than named by a test.
func (s *skeleton) named(language string, p *pattern.Pattern) string {
	for _, m := range p.FindAllStringIndex(s.worth(p)) {
		if !s.looks(maxTold) || !s.mentioned(language, m[0], m[1]) {
			return s.code[m[0]:m[1]]
		}
	}
	return ""
}

// mentioned says whether a test only names what stands between two places of the code.
func (s *skeleton) mentioned(language string, from, to int) bool {
	before, behind := s.code[max(0, from-maxTold):from], s.code[to:min(len(s.code), to+maxTold)]
	switch language {
	case "python":
		return asked.MatchString(behind) || boundAs.MatchString(before) || parameter.MatchString(before) && behindParameter.MatchString(behind) || s.deletesOwn(to)
	case "ruby":
		return received.MatchString(before) && strings.HasPrefix(behind, ")") && !ownTest.MatchString(s.worth(ownTest))
	case "node":
		return expected.MatchString(before) && matcher.MatchString(behind) && !ownTest.MatchString(s.worth(ownTest))
	}
	return false
}
