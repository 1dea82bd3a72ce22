package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/plugins/grep/internal/ignore"
)

// Whatever a program prints, reading it ends, and gives no record that was not there.
func FuzzCounted(f *testing.F) {
	f.Add("./a\x003\n./b\nc\x001\n")
	f.Add("./a\x00./b\x00")
	f.Add("./a\x00x\n")
	f.Fuzz(func(t *testing.T, out string) {
		var names []string
		err := parseCountRecords(strings.NewReader(out), func(name string, lines int) {
			if strings.ContainsRune(name, 0) || lines < 0 {
				t.Errorf("%q has %d lines", name, lines)
			}
			names = append(names, name)
		})
		if len(names) > strings.Count(out, "\x00") {
			t.Errorf("%d names in %q", len(names), out)
		}
		if err == nil && len(names) != strings.Count(out, "\x00") {
			t.Errorf("%d names in %q", len(names), out)
		}
	})
}

// A cursor that was given comes back as it was; whatever else comes is refused or harmless.
func FuzzCursor(f *testing.F) {
	f.Add("3:a/b")
	f.Add("0::")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseCursor(s)
		if err != nil {
			return
		}
		if again, err := parseCursor(c.String()); err != nil || again != c {
			t.Errorf("%+v became %+v, %v", c, again, err)
		}
	})
}

// The order is one: whichever two names are compared, and however.
func FuzzOrder(f *testing.F) {
	f.Add("a/b", "a.b", "a")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		names := []string{a, b, c}
		slices.SortFunc(names, compareNames)
		if compareNames(names[0], names[1]) > 0 || compareNames(names[1], names[2]) > 0 || compareNames(names[0], names[2]) > 0 {
			t.Errorf("%q is in no order", names)
		}
		if compareNames(a, b) != -compareNames(b, a) && (compareNames(a, b) > 0) == (compareNames(b, a) > 0) {
			t.Errorf("%q and %q are each before the other", a, b)
		}
	})
}

func FuzzIgnore(f *testing.F) {
	f.Add("*.log\n!a.log\n/b/\n", "/w/a.log")
	f.Add("[\n{\n\\\n**", "/w/x/y")
	f.Fuzz(func(_ *testing.T, rules, name string) {
		var none *ignore.RuleChain
		chain := none.Extend("/w", ignore.ParseRules(rules))
		chain.Decide("/w/d", name, false)
		chain.Decide("/w", name, true)
	})
}

func TestExpensiveGlobIsRefused(t *testing.T) {
	for glob, want := range map[string]string{
		"**/*.{go,md}":                            "",
		"{a,b,c}{d,e}[{,]x\\{":                    "",
		strings.Repeat("{*a,*b}", 9):              "",
		strings.Repeat("{*a,*aa,*}", 12) + "b":    "combinations",
		"{" + strings.Repeat("{a,b},", 600) + "}": "combinations",
		strings.Repeat("{a,", 2000):               "", // not a glob: said by its own words
		strings.Repeat("{", maxGlob+1):            "bytes long",
		"":                                        "is not a glob",
	} {
		err := validateGlob("pattern", glob)
		switch {
		case strings.HasPrefix(glob, "{a,{a"):
			if err == nil {
				t.Errorf("%.40q is taken", glob)
			}
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.40q: %v, want %q", glob, err, want)
		}
	}
}
