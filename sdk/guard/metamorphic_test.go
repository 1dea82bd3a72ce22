package guard

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// share says of how many pairs of a line and a wrapping one is tried: each line is tried in some wrappings, and each
// wrapping with some lines of every kind.
func share() int {
	if raced || testing.Short() {
		return 16
	}
	return 1
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	q, err := syntax.Quote(text, syntax.LangBash)
	if err != nil {
		return "''"
	}
	return q
}

// wrappings run a command in another way. quoted is the command as one word.
var wrappings = map[string]func(line, quoted string) string{
	"subshell":          func(l, _ string) string { return "(" + l + "\n)" },
	"group":             func(l, _ string) string { return "{ " + l + "\n}" },
	"negated":           func(l, _ string) string { return "! { " + l + "\n}" },
	"if":                func(l, _ string) string { return "if true; then " + l + "\nfi" },
	"else":              func(l, _ string) string { return "if false; then :; else " + l + "\nfi" },
	"condition":         func(l, _ string) string { return "if " + l + "\nthen :; fi" },
	"for":               func(l, _ string) string { return "for once in 1; do " + l + "\ndone" },
	"while":             func(l, _ string) string { return "while true; do " + l + "\nbreak; done" },
	"case":              func(l, _ string) string { return "case x in x) " + l + "\n;; esac" },
	"function":          func(l, _ string) string { return "wrapped() { " + l + "\n}; wrapped" },
	"function uncalled": func(l, _ string) string { return "wrapped() { " + l + "\n}" },
	"and":               func(l, _ string) string { return "true && { " + l + "\n}" },
	"or":                func(l, _ string) string { return "false || { " + l + "\n}" },
	"background":        func(l, _ string) string { return "{ " + l + "\n} & wait" },
	"piped":             func(l, _ string) string { return "true | { " + l + "\n}" },
	"substitution":      func(l, _ string) string { return "echo \"$(" + l + "\n)\"" },
	"assigned":          func(l, _ string) string { return "x=$(" + l + "\n)" },
	"process":           func(l, _ string) string { return "cat <(" + l + "\n)" },
	"time":              func(l, _ string) string { return "time { " + l + "\n}" },
	"bash -c":           func(_, q string) string { return "bash -c " + q },
	"env bash -c":       func(_, q string) string { return "env A=1 bash -c " + q },
	"timeout bash -c":   func(_, q string) string { return "timeout -k 1 5 nohup nice -n 3 bash -lc " + q },
	"eval":              func(_, q string) string { return "eval " + q },
	"eval by variable":  func(_, q string) string { return "code=" + q + "; eval \"$code\"" },
	"trap":              func(_, q string) string { return "trap " + q + " EXIT" },
	"here-string":       func(_, q string) string { return "bash <<< " + q },
	"printf to bash":    func(_, q string) string { return "printf '%s' " + q + " | bash" },
	"saved and run":     func(_, q string) string { return "printf '%s' " + q + " > script; bash script" },
	"nested":            func(_, q string) string { return "bash -c 'bash -c \"$0\"' " + q },
	"find":              func(_, q string) string { return `find . -maxdepth 0 -exec bash -c ` + q + ` \;` },
	"before":            func(l, _ string) string { return l + "\ntrue" },
	"after":             func(l, _ string) string { return "true\n" + l },
}

// However a refused command is wrapped, it stays refused.
func TestWrappedCommandKeepsVerdict(t *testing.T) {
	t.Parallel()
	g := mustNew(t, everything())
	names := slices.Sorted(maps.Keys(wrappings))
	for i, l := range corpus(t, "deny_direct", "path_escape", "harmful", "outside") {
		plain := decide(g, l.Cmd)
		if plain.Verdict == Allow || plain.Rule == "exec.syntax" {
			continue // the corpus test tells of the first; what is no program may become one
		}
		q := quoted(t, l.Cmd)
		for n, name := range names {
			if (i+n)%share() != 0 {
				continue
			}
			if d := decide(g, wrappings[name](l.Cmd, q)); d.Verdict == Allow {
				t.Errorf("%s: %q is %s by %s, but %s when wrapped", name, l.Cmd, plain.Verdict, plain.Rule, d.Verdict)
			}
		}
	}
}

// What is added to a line and is harmless itself changes nothing.
func TestHarmlessAdditionsChangeNothing(t *testing.T) {
	t.Parallel()
	g := mustNew(t, everything())
	for i, l := range corpus(t, "deny_direct", "path_escape", "allow_benign", "harmful", "outside", "everyday") {
		plain := decide(g, l.Cmd)
		for n, line := range []string{l.Cmd + "\ntrue", "true\n" + l.Cmd, "echo begin; " + l.Cmd, "unused=1\n" + l.Cmd,
			"\n\n" + l.Cmd + "\n\n", "# a comment\n" + l.Cmd} {
			if (i+n)%share() != 0 {
				continue
			}
			if d := decide(g, line); d.Verdict != plain.Verdict || d.Rule != plain.Rule {
				t.Errorf("%q: %s %s; with something harmless %q: %s %s", l.Cmd, plain.Verdict, plain.Rule, line, d.Verdict, d.Rule)
			}
		}
	}
}

// plainWords matches lines of words that mean themselves, of which quoting changes nothing.
var plainWords = regexp.MustCompile(`^[a-z][a-z0-9./]*( [A-Za-z0-9./_=:,@+-]+)*$`)

// disguises write the same words in another way.
var disguises = map[string]func(words []string) string{
	"single quotes": func(w []string) string { return "'" + strings.Join(w, "' '") + "'" },
	"double quotes": func(w []string) string { return `"` + strings.Join(w, `" "`) + `"` },
	"ANSI quotes":   func(w []string) string { return "$'" + strings.Join(w, "' $'") + "'" },
	"empty quotes":  func(w []string) string { return w[0][:1] + "''" + w[0][1:] + ` ""` + strings.Join(w[1:], ` ""`) },
	"backslashes":   func(w []string) string { return `\` + strings.Join(w, ` \`) },
	"more space":    func(w []string) string { return "  " + strings.Join(w, " \t  ") + "  " },
	"continuation":  func(w []string) string { return strings.Join(w, " \\\n ") },
	"braces": func(w []string) string {
		return "{" + strings.ReplaceAll(strings.ReplaceAll(strings.Join(w, " "), ",", `","`), " ", ",") + "}"
	},
	"a variable": func(w []string) string { return "v=" + w[0] + "; $v " + strings.Join(w[1:], " ") },
	"two variables": func(w []string) string {
		return "a=" + w[0][:1] + "; b=" + w[0][1:] + "; $a$b " + strings.Join(w[1:], " ")
	},
	"all variables": func(w []string) string { return "v='" + strings.Join(w, " ") + "'; $v" },
	"an array":      func(w []string) string { return "v=(" + strings.Join(w, " ") + `); "${v[@]}"` },
	"parameters":    func(w []string) string { return "set -- " + strings.Join(w, " ") + `; "$@"` },
	"a substitution": func(w []string) string {
		return "$(echo " + w[0] + ") " + strings.Join(w[1:], " ")
	},
	"IFS":     func(w []string) string { return strings.Join(w, "${IFS}") },
	"command": func(w []string) string { return "command " + strings.Join(w, " ") },
	"env":     func(w []string) string { return "env -i X=y " + strings.Join(w, " ") },
	"busybox": func(w []string) string { return "busybox " + strings.Join(w, " ") },
	"exec":    func(w []string) string { return "exec " + strings.Join(w, " ") },
	"xargs":   func(w []string) string { return "printf '%s ' " + strings.Join(w[1:], " ") + " | xargs " + w[0] },
}

func TestDisguisedCommandKeepsVerdict(t *testing.T) {
	t.Parallel()
	g := mustNew(t, everything())
	names := slices.Sorted(maps.Keys(disguises))
	tried := 0
	for i, l := range corpus(t, "deny_direct", "path_escape", "harmful", "outside") {
		plain := decide(g, l.Cmd)
		words := strings.Fields(l.Cmd)
		if plain.Verdict == Allow || !plainWords.MatchString(l.Cmd) || len(words) < 2 || shellOnly[words[0]] {
			continue
		}
		tried++
		for n, name := range names {
			if (i+n)%share() != 0 {
				continue
			}
			if line := disguises[name](words); decide(g, line).Verdict == Allow {
				t.Errorf("%s: %q is %s by %s, but %q is %s", name, l.Cmd, plain.Verdict, plain.Rule, line, decide(g, line).Verdict)
			}
		}
	}
	if tried < 300 {
		t.Errorf("only %d lines were plain enough", tried)
	}
}

// shellOnly are words that mean something else, or nothing, when they aren't written plainly or a program starts them.
var shellOnly = map[string]bool{"if": true, "cd": true, "pushd": true, "export": true, "source": true, "alias": true,
	"exec": true, "eval": true, "time": true,
	"enable": true, "hash": true, "history": true, "builtin": true, "coproc": true, "trap": true, "set": true,
	"local": true, "readonly": true}

// What is decided at the same time on other commands, by the same guard, changes nothing.
func TestConcurrentDecisions(t *testing.T) {
	g := mustNew(t, everything())
	var lines []string
	for i := range 64 {
		lines = append(lines, fmt.Sprintf("printf '%%s %d' 'rm -rf x%d' | bash", i, i),
			fmt.Sprintf("printf 'ls %%s' dir%d | bash", i),
			fmt.Sprintf("x=$(printf %%05d %d); cat ../$x", i), fmt.Sprintf("git -c alias.a='!sudo ls %d' a", i),
			fmt.Sprintf("python3 -c 'open(\"/etc/%d\")'", i))
	}
	want := make([]Decision, len(lines))
	for i, line := range lines {
		want[i] = decide(g, line)
	}
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			for round := range 10 {
				for i := range lines {
					i = (i + 31*n + round) % len(lines)
					if got := decide(g, lines[i]); !reflect.DeepEqual(got, want[i]) {
						t.Errorf("%q: alone %+v; among others %+v", lines[i], want[i], got)
						return
					}
				}
			}
		})
	}
	group.Wait()
}
