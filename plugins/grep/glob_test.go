package main

import (
	"strings"
	"testing"
)

func TestAGlobThatWouldTakeForEverIsRefused(t *testing.T) {
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
		err := checkGlob("pattern", glob)
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
