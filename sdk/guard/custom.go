package guard

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// canonical is the text that custom patterns are matched against: the words of one simple command, quoted where they
// need it, with one space between them.
func canonical(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range visible(argv) {
		quoted, err := syntax.Quote(arg, syntax.LangBash)
		if err != nil {
			quoted = strconv.Quote(arg)
		}
		words[i] = quoted
	}
	return strings.Join(words, " ")
}

// allowed reports whether a custom allow pattern matches a simple command.
func (a *analysis) allowed(argv []string) bool {
	if len(a.guard.allow) == 0 || shell.HasUnknown(strings.Join(argv, " ")) {
		return false
	}
	return matches(a.guard.allow, canonical(argv))
}

// matches reports whether one of the patterns matches s.
func matches(patterns []*regexp.Regexp, s string) bool {
	for _, re := range patterns {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

// custom refuses a command if a custom deny pattern matches one of the texts that it has.
func (a *analysis) custom(span shell.Span, argv []string, texts ...string) {
	for _, re := range a.guard.deny {
		if slices.ContainsFunc(texts, re.MatchString) {
			a.add(finding{verdict: Deny, rule: "exec.custom-deny", line: reasonDangerous, span: span, argv: argv,
				why:  fmt.Sprintf("the custom deny pattern %q matches", re.String()),
				tier: tierHard, setting: "only removing the pattern from tools.exec.custom_deny_patterns lifts this"})
		}
	}
}
