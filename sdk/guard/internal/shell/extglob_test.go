package shell_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

func TestExtendedPatterns(t *testing.T) {
	for line, want := range map[string]string{
		"args @(a|b)/c":           "a/c b/c",
		"args ?(.)./d":            "../d ./d",
		"args +(.)/d":             "./d ../d */d",
		"args @(a|@(b|c))d":       "ad bd cd",
		"args !(a)":               "*",
		"args @('..'|a\\ b)":      ".. a b",
		"args @($y)":              shell.Unknown,
		"args @(a|b)@(c|d)":       "ac ad bc bd",
		"args plain @(a)\"@(b)\"": "plain a@(b)",
	} {
		var got []string
		r := &recorder{}
		shell.Interpret(line, shell.Options{Dir: "/", Env: map[string]string{}}, r)
		for _, call := range r.calls {
			got = append(got, call...)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s\n%s", line, diff)
		}
	}
}
