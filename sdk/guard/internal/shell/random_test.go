//go:build unix

package shell_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// pieces are what words are put together of: quotes within and beside each other, escapes, braces, and expansions of v, which is ab, of w,
// which is x, and of u, which isn't set. There are no patterns among them: what they find isn't predicted.
var pieces = []string{
	`a`, `rm`, `=`, `:`, `/`, `-`, `.`, `!`, `#`, `@`, `%`, `+`, `,`, `\m`, `\ `, `\\`, `\'`, `\{a,b\}`, `'x y'`, `'\'`, `"d $v"`, `"\$"`, `"\""`, `"a\b"`, `"\\"`, `"{a,b}"`,
	`$'\x41\n'`, `$'\''`, `$'a\tb'`, `$'\162'`, `$"x"`, `{a,b}`, `{1..3}`, `$v`, `$w`, `"$w"`, `${v}`, `${w[0]}`, `${w[*]}`, `"${w[@]}"`, `${#v}`, `${v:1}`, `${v:0:1}`, `${v^}`, `${v^^}`, `${v,,}`,
	`${v#a}`, `${v%b}`, `${v/a/\q}`, `${v//a/'q r'}`, `"${v/a/"q"}"`, `${u:-d\e}`, `"${u:-d\e}"`, `${u:-'d e'}`, `"${u:-'d e'}"`, `"${v:-"i j"}"`, `${v:+x\y}`, `${v:=k}`, `${v:?e}`,
	`$((1+2))`, `$(echo q w)`, `"$(echo q  w)"`, "`echo z`", "\"`echo \\\"z\\\"`\"",
}

// wordsStand are lines that a word is put into.
var wordsStand = []string{
	`q=%s; args "$q"`, `args %s`, `q=(%s); args "${q[@]}"`, `for q in %s; do args "$q"; done`, `export q=%s; args "$q"`, `declare q=%s; args "$q"`, `read -r q <<< %s; args "$q"`,
	`f() { args "$@"; }; f %s`, `set -- %s; args "$*" $#`, `q+=%s; args "$q"`, `args "$(echo %s)"`, `eval args %s`, `printf -v q '%%s' %s; args "$q"`, `[[ %s == a* ]] && args m`, "args \"$(cat <<E\n%s\nE\n)\"",
}

// TestPredictedArgumentsOfRandomWords compares words made at random with what bash makes of them. What isn't predicted at all is a problem
// of its own, which is reported otherwise.
func TestPredictedArgumentsOfRandomWords(t *testing.T) {
	const lines, seed = 500, 7
	random := rand.New(rand.NewPCG(seed, seed))
	dir := workdir(t)
	for range lines {
		var word strings.Builder
		for range 1 + random.IntN(4) {
			word.WriteString(pieces[random.IntN(len(pieces))])
		}
		line := "v=ab; w=x; " + fmt.Sprintf(wordsStand[random.IntN(len(wordsStand))], word.String())
		r := &recorder{}
		shell.Interpret(line, shell.Options{Dir: dir, Env: map[string]string{"HOME": "/home/u"}}, r)
		for _, real := range run(t, dir, []string{"/bin/bash", "--noprofile", "--norc", "-c"}, line) {
			if len(r.calls) > 0 && !slices.ContainsFunc(r.calls, func(p []string) bool { return matches(p, real) }) {
				t.Errorf("%s\n gave args %q\n predicted  %q", line, real, r.calls)
			}
		}
	}
}
