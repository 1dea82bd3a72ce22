package guard

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// forks are what makes a command go on in several ways.
var forks = []string{
	"[ -f x ] && a=1", "if [ -f x ]; then v=rm; else w=2; fi", "x=1; [ -d y ] || x=2", "test -f a && cd sub", "for q in 1 2 3; do [ -f $q ] && z=$q; done",
	"trap 'echo $z' EXIT; [ -f x ] && z=3", "[ -f x ] && export v=2", "[ -f k ] && echo hi > t.sh", "[ -n \"$Q\" ] && alias ll='ls -l'",
	"f() { [ -f y ] && return 1; k=2; }; f || k=3", "declare -i n; [ -f x ] && n=3", "set -e; [ -f x ] || t=9", "[ -f x ] && declare -i w", "[ -f x ] || w=(a b)",
	"[ -f x ] && f() { v=rm; }", "case $Q in a) v=echo;; b) v=ls; cd sub;; esac", "[ -f x ] && readonly v", "[ -f x ] && unset v", "[ -f x ] && cd sub && cd ..",
	"while read -r l; do [ \"$l\" ] && v=$l && break; done < list", "[ -f x ] && IFS=:", "[ -f x ] && exec 3> log", "[ -f x ] && trap 'v=1' EXIT", "[ -f x ] && set -- a b",
}

// Ways that are led through like another one come to the same decision as ways that are followed by themselves. Where it goes on for long it
// may be another one: those take more steps, and of loops that have taken many, not every round is followed.
func TestWaysThatAreAlike(t *testing.T) {
	languages := flowLanguages(t)
	lines := corpus(t, "everyday", "harmful", "outside")
	r := rand.New(rand.NewPCG(*flowSeed, *flowSeed))
	policy := Policy{Workspace: "/home/user/ws", Restrict: true, Exec: ExecPolicy{DenyPatterns: true}}
	alike, singly := mustNew(t, policy), mustNew(t, policy)
	singly.singly = true
	compare := func(text string) {
		t.Helper()
		c := Command{Text: text, Env: map[string]string{"HOME": "/home/user"}}
		a, b := alike.Command(c), singly.Command(c)
		tooMuch := strings.Contains(b.Reason, "too many steps") || strings.Contains(b.Reason, "takes too long") // by itself, it may be
		if !tooMuch && a.Verdict != b.Verdict {
			t.Errorf("%s\n%s %s %q, but singly %s %s %q", text, a.Verdict, a.Rule, a.Reason, b.Verdict, b.Rule, b.Reason)
		}
	}
	for range *flowPrograms {
		var text strings.Builder
		for range 1 + r.IntN(3) {
			text.WriteString(forks[r.IntN(len(forks))] + "\n")
		}
		fork := text.String()
		compare(fork + languages["bash"].program(r))
		for range r.IntN(4) {
			text.WriteString(strings.TrimSuffix(lines[r.IntN(len(lines))].Cmd, "\n") + "\n")
			if r.IntN(3) == 0 {
				text.WriteString(forks[r.IntN(len(forks))] + "\n")
			}
		}
		compare(text.String())
	}
}
