package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Parses says whether text is a program of one of the shells, or may be one: it must not even be parsed.
func Parses(text string) bool {
	if Check(text) != nil {
		return true
	}
	for _, dialect := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
		if _, err := syntax.NewParser(syntax.Variant(dialect)).Parse(strings.NewReader(text), ""); err == nil {
			return true
		}
	}
	return false
}
