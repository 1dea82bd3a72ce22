package lang

import (
	"os/exec"
	"strings"
	"testing"
)

// What is said of sed must be what sed does.
func TestSubstitutedIsWhatSedPrints(t *testing.T) {
	t.Parallel()
	known := 0
	for _, script := range []string{
		"s/a/b/", "s/a/b/g", "s/^/rm /", "s/$/ x/", "s|/a|/b|g", `s/a\.b/c/`, `s/\r$//`, "s/A/b/I", "s/X*/rm/", "s/a+/b/", "s/(a)/b/g",
		"s/a/b/;s/b/c/", "s/a/b/\ns/c/d/g", "s/a/&&/", `s/\(a\)/\1/`, "1s/a/b/", "/a/d", "s/[ab]/c/", "s/a{2}/b/", "s/a?/b/", "s/a|ab/x/", "s/a|aab/x/g", "s/a/b/2", "p", "y/a/b/", "s,a\\,b,c,",
	} {
		for _, extended := range []bool{false, true} {
			for _, text := range []string{"a.b aab\nXX -rf c\n", "/a/a\r\n(a) a+ a?\n", "no end: A a{2} aa", "\n\n", ""} {
				got, ok := Substituted(script, text, extended)
				if !ok {
					continue
				}
				known++
				args := []string{script}
				if extended {
					args = []string{"-E", script}
				}
				sed := exec.Command("sed", args...)
				sed.Stdin = strings.NewReader(text)
				want, err := sed.Output()
				if err == nil && got != string(want) {
					t.Errorf("sed %q of %q: %q; sed prints %q", args, text, got, want)
				}
			}
		}
	}
	if known < 60 {
		t.Errorf("only %d are known", known)
	}
}
