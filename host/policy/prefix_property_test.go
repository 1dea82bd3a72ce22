package policy

import (
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/internal/paths"
)

func TestMatchesAreBelowLiteralPrefix(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"^", "^", "^/", "/", "/", "/etc", "/a", "a", "b", "hosts", `\.`, ".", ".*", "[^/]+", "[ab]", "[.]", "(", ")", "(?:",
		"|", "*", "+", "?",
		"{2}", "{0,1}", "$", `\z`, `\A`, `\b`, "(?i)", "(?m)", "(?s)", "(?-i)", "é", "k", "ſ", `\x{FFFD}`, "/..", "/.", "//",
		"()", "\n", "(/|$)", "(/.*)?$", "(|/x)", "$|^/etc/",
	}
	patterns, matches, tight := 0, 0, 0
	for range 90_000 {
		var b strings.Builder
		for range 1 + rng.IntN(9) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		pattern := b.String()
		re, err := regexp.Compile(pattern)
		if err != nil {
			continue
		}
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		patterns++
		prefix, exact := LiteralPathPrefix(pattern)
		if prefix != "/" {
			tight++
		}
		for range 6 {
			path := filepath.Clean(junk(rng) + sample(rng, parsed) + junk(rng))
			if !filepath.IsAbs(path) || !re.MatchString(path) {
				continue
			}
			matches++
			if !paths.Within(prefix, path) || exact && path != prefix {
				t.Fatalf("%q matches %q, which is outside of %q (exact %t)", pattern, path, prefix, exact)
			}
		}
	}
	if patterns < 10_000 || matches < 5_000 || tight < 500 {
		t.Errorf("the test has seen only %d patterns, %d matches and %d prefixes", patterns, matches, tight)
	}
}

// junk is what may stand before or after a match that is not anchored.
func junk(rng *rand.Rand) string {
	return []string{"", "", "", "/", "x", "/x", "/etc/", "\n", "\xff"}[rng.IntN(9)]
}

// sample makes a text that re matches, as far as conditions such as ^ allow it where they stand.
func sample(rng *rand.Rand, re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		if re.Flags&syntax.FoldCase != 0 && rng.IntN(2) == 0 {
			text = strings.ToUpper(text)
		}
		if rng.IntN(4) == 0 {
			text = strings.ReplaceAll(text, "\ufffd", "\xfe") // both are U+FFFD to the matcher
		}
		return text
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return ""
		}
		i := 2 * rng.IntN(len(re.Rune)/2)
		return string(re.Rune[i] + rng.Int32N(re.Rune[i+1]-re.Rune[i]+1))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{"a", "/", ".", "\xff", "é"}[rng.IntN(5)]
	case syntax.OpCapture:
		return sample(rng, re.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		low, high := 0, 3
		switch re.Op {
		case syntax.OpPlus:
			low = 1
		case syntax.OpQuest:
			high = 1
		case syntax.OpRepeat:
			low, high = re.Min, max(re.Min, re.Max)
		}
		text := ""
		for range low + rng.IntN(high-low+1) {
			text += sample(rng, re.Sub[0])
		}
		return text
	case syntax.OpConcat:
		text := ""
		for _, sub := range re.Sub {
			text += sample(rng, sub)
		}
		return text
	case syntax.OpAlternate:
		return sample(rng, re.Sub[rng.IntN(len(re.Sub))])
	default:
		return ""
	}
}
