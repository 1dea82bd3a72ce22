package pattern

import (
	"regexp"
	"slices"
	"testing"
)

func TestRequired(t *testing.T) {
	for expr, want := range map[string][]string{
		`abc`:                {"abc"},
		`a|b`:                nil, // a class of characters
		`open|popen`:         {"open", "popen"},
		`\b(kill|chmod)\b`:   {"kill", "chmod"},
		`x*abc+`:             {"ab"},
		`(?i)abc`:            nil,
		`\bfork\b|\bx?`:      nil,
		`(ab|cd)?`:           nil,
		`(?:ab){2}c`:         {"ab"},
		`a.*bcd.*ef`:         {"bcd"},
		`[a-z]+`:             nil,
		`(?:long|lo)x(y|zz)`: {"lo"},
	} {
		if got := required(expr); !slices.Equal(got, want) {
			t.Errorf("required(%q) = %q; want %q", expr, got, want)
		}
	}
}

// A pattern finds what its expression finds.
func FuzzPattern(f *testing.F) {
	f.Add(`\b(ab|cd)e+f`, "x abeef")
	f.Add(`(?:ab){2,}|c?d`, "ababd")
	f.Add(`(?i)K`, "\u212a")
	f.Fuzz(func(t *testing.T, expr, text string) {
		re, err := regexp.Compile(expr)
		if err != nil || len(expr) > 100 {
			return
		}
		if got, want := New(expr).FindStringSubmatchIndex(text), re.FindStringSubmatchIndex(text); !slices.Equal(got, want) {
			t.Errorf("%q in %q: %v; want %v", expr, text, got, want)
		}
	})
}
