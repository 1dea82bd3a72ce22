package pattern

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// A pattern finds what its expression finds, in long texts and in short ones.
func FuzzPattern(f *testing.F) {
	f.Add(`\b(ab|cd)e+f`, "x abeef xabef cdef")
	f.Add(`(?:ab){2,}|c?d`, "ababd")
	f.Add(`(?i)K`, "\u212a")
	f.Add(`\b(?:a|(b))?c\b`, "c xc bc _c ac")
	f.Add(`"(\d+)"\s*\+\s*"(\d+)"`, `"1" + "2" + "3"`)
	f.Add(`\ba$`, "a\xffa")
	f.Add(`a|`, "ba")
	f.Fuzz(func(t *testing.T, expr, text string) {
		re, err := regexp.Compile(expr)
		if err != nil || len(expr) > 100 {
			return
		}
		if _, err := regexp.Compile("(" + expr + ")"); err != nil {
			return // not whole within brackets
		}
		p := New(expr)
		for _, text := range []string{text, text + strings.Repeat(" ", 1024) + text} {
			if got, want := p.FindStringSubmatchIndex(text), re.FindStringSubmatchIndex(text); !slices.Equal(got, want) {
				t.Errorf("%q in %.100q: %v; want %v", expr, text, got, want)
			}
			if got, want := p.FindAllStringSubmatch(text), re.FindAllStringSubmatch(text, -1); !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%q in %.100q: all are %q; want %q", expr, text, got, want)
			}
			if got, want := p.ReplaceAllString(text, "<${0}>"), re.ReplaceAllString(text, "<${0}>"); got != want {
				t.Errorf("%q in %.100q is replaced: %.100q; want %.100q", expr, text, got, want)
			}
		}
	})
}

// An automaton that has too many states begins anew, and finds the same, whoever uses it besides.
func TestTooManyStates(t *testing.T) {
	expr := `[ab]*a[ab]{9}c`
	p, re := New(expr), regexp.MustCompile(expr)
	var all sync.WaitGroup
	for seed := range uint64(4) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, seed))
			for range 100 {
				text := make([]byte, 300)
				for i := range text {
					text[i] = "aaaaabbbbbbc"[random.IntN(12)]
				}
				if got, want := p.FindStringSubmatchIndex(string(text)), re.FindStringSubmatchIndex(string(text)); !slices.Equal(got, want) {
					t.Errorf("%v; want %v in %s", got, want, text)
				}
			}
		})
	}
	all.Wait()
	if n := len(p.automaton().states); n > maxStates {
		t.Errorf("%d states", n)
	}
}
