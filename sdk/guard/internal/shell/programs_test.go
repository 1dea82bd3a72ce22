//go:build unix

package shell_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	programs = flag.Int("programs", 400, "how many programs made at random are compared with what bash makes of them")
	seed     = flag.Uint64("seed", 1, "what they are made from")
	depth    = flag.Int("depth", 3, "how deep in a program they begin: the less, the longer they are")
)

// grammar is what programs are made of. A capital letter stands for one of the lines behind it: a block is up to three statements. A program
// begins by setting what its words stand for, and ends by showing what has become of that.
var grammar = map[byte][]string{
	'W': {
		`a`, `rm`, `"b c"`, `'$v'`, `$v`, `"$v"`, `x$v`, `${w[0]}`, `"${w[@]}"`, `${w[@]:1}`, `"${w[*]}"`, `${#w[@]}`, `"${w[-1]}"`, `${w[n]}`, `"${!w[@]}"`, `"${w[@]/k/j}"`, `$1`, `"$@"`, `$#`, `"$*"`, `"${@:2}"`,
		`${v:-d}`, `"${y-e}"`, `${y:=g}`, `${x}`, `${v:+"h i"}`, `$(f)`, `"$(f)"`, `"$(echo $v)"`, "`f`", `${v%%b*}`, `${v#a}`, `${v//b/r}`, `${v^^}`, `${v:n:1}`, `${#v}`, `$((n+1))`, `$n`, `${!p}`, `$i`,
		`${m[k]}`, `"${m[@]}"`, `${m[$v]}`, `{a,$v}`, `$'r\x6d'`, `"$(cat <<< $v)"`, `"$(<file)"`, `${FUNCNAME[0]}`, `$((n++))`, `$(g "$x")`, `\r\m`,
	},
	'U': {`a`, `rm`, `"b c"`, `$v`, `"$v"`, `x$v`, `$1`, `"$*"`, `$#`, `${x}`, `${v%%b*}`, `$((n+1))`, `${m[k]}`, `"${w[@]}"`}, // as in a function, which must not call itself without end
	'T': {`"$v" = a`, `-n "$x"`, `$n -gt 0`, `-z "$1"`, `-f file`, `"$v" != "$x"`, `$# -eq 2`},
	'P': {`a*`, `"$v"`, `[abr]?`, `*`, `rm|x`, `k`},
	'N': {`v`, `x`, `i`, `y`},
	'B': {`S`, `S; S`, `S; S; S`},
	'I': { // what stands within something else
		`v=W`, `x=W`, `N=W`, `v+=W`, `w=(W W)`, `w+=(W)`, `w[1]=W`, `w[n]=W`, `m[k]=W`, `m[$v]=W`, `args W W`, `args W`, `set -- W W`, `shift`, `((n++))`, `n=$((n+1))`, `p=N`, `unset N`, `unset w`,
		`unset "w[0]"`, `read v x <<< W`, `read -r N <<< W`, `read -a w <<< W`, `printf -v N %s W`, `printf -v x '%s-' W W`, `local N=W`, `local N`, `local w=(W)`, `declare N=W`, `declare -g N=W`, `declare -i n=n+1`, `export N=W`,
		`echo W > file`, `echo W >> log`, `mapfile -t w < file`, `mapfile -t w <<< W`, `readonly q=W`, `IFS=b`, `IFS=" "`, `f`, `g W`, `eval N=W`, `eval "v=\"W\""`, `return`, `break`, `continue`, `: ${N:=W}`, `let n+=1`, `v=W args "$v" W`, `v=W g W`,
		`unset -f f`, `set -f`, `cat > file <<< W`, `read -r v < file`, `! args W`, `cd sub`, `args "${PWD##*/}"`, `cd ..`, `x=${v/W/W}`, `getopts ab i -a -b`, `wait`, `true W`, `declare -n r=N`, `r=W`, `alias args=W`,
	},
	'S': {
		`I`, `I`, `I`, `I`, `for i in W W; do B; done`, `for i; do B; done`, `if [ T ]; then B; else B; fi`, `if [ T ]; then B; fi`, `case W in P) B;; P) B;; esac`, `case W in P) B;& P) B;; esac`, `case W in P) B;;& *) B;; esac`,
		`g() { B; }; g W`, `g() { B; }; g W; g W`, `f() { echo U; }`, `f() { v=U; echo U; }`, `(B)`, `{ B; }`, `while [ $n -lt 2 ]; do n=$((n+1)); B; done`, `until [ $n -gt 1 ]; do n=$((n+1)); B; done`, `[[ $v == P ]] && S`, `[ T ] || S`, `[ T ] && I || I`, `{ S; }; S`, `false || S`,
		`true && S`, `x=$(I; echo W)`, `v=$(f; echo W)`, `while read -r i; do B; done <<< $'k\nl'`, `while read -r i; do B; done < file`, `echo W | while read -r N; do B; done`, `for ((c = 0; c < 2; c++)); do B; done`, `eval 'I'`, `bash -c 'args "$@"' - W W`,
		`{ B; } > file`, `if ! g W; then B; fi`, `h() { local N=W; S; args "$N"; }; h W`, `h() { local N; g W; S; }; h`, `echo 'v=W' > file; . ./file`, `( B; args W )`, `trap 'args W' EXIT`, `f() { return; }; f && S`, `select i in W; do B; break; done <<< 1`,
		`set -e; I; set +e`, `coproc { I; }; wait`, `I & wait`, `declare -A m; m[k]=W`, `for N in "${!m[@]}"; do B; done`, `for N in "${m[@]}"; do B; done`, `f() { if [ T ]; then echo U; else echo U; fi; }; N=$(f)`, `N=$(case W in P) echo W;; *) echo W;; esac)`, `{ I; read N; read N; } <<< W`, `{ I; } | cat`, `I | cat`, `time I`, `command args W`,
	},
}

// bashSigns are signs and words of the grammar that dash hasn't got, or ends at, as at a shift of nothing.
var bashSigns = []string{"<<<", "w[", "w=(", "w+=(", "((n", "((c", "mapfile", "declare", "select", "coproc", ";&", "${!", "//", "^^", ":n:", "$'", "printf -v", "[[", "+=", "m[", "read -a", "${w", "${m", "let ",
	"$(<", "FUNCNAME", "/W/W", "{a,", "${@:", "time ", "local w", "declare", "r=W", "trap", "bash -c", "shift", ". ./"}

// posixGrammar are the lines of the grammar that dash understands, too.
func posixGrammar() map[byte][]string {
	plain := map[byte][]string{}
	for rule, lines := range grammar {
		plain[rule] = slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
			return slices.ContainsFunc(bashSigns, func(sign string) bool { return strings.Contains(line, sign) })
		})
	}
	plain['I'] = append(plain['I'], `read -r N < file`, `N=${N#a}`, `: "${N:=W}"`, `printf '%s' W > file`, `echo 'a\tb' W > file`)
	return plain
}

// made is a text of a grammar. Below some depth, what stands within something else is simple.
func made(random *rand.Rand, grammar map[byte][]string, rule byte, depth int) string {
	if rule == 'S' && depth > 4 {
		rule = 'I'
	}
	lines := grammar[rule]
	var b strings.Builder
	line := lines[random.IntN(len(lines))]
	for i := range len(line) {
		if grammar[line[i]] != nil && (i == 0 || line[i-1] < 'A' || line[i-1] > 'Z') && (i+1 == len(line) || line[i+1] < 'A' || line[i+1] > 'Z') {
			b.WriteString(made(random, grammar, line[i], depth+1))
		} else {
			b.WriteByte(line[i])
		}
	}
	return b.String()
}

// TestPredictedArgumentsOfRandomPrograms compares programs made at random with what bash and dash do when they run them. What isn't
// predicted at all is a problem of its own, which is reported otherwise.
func TestPredictedArgumentsOfRandomPrograms(t *testing.T) {
	for _, s := range []struct {
		name          string
		program       []string
		grammar       map[byte][]string
		before, after string
	}{
		{"bash", []string{"timeout", "1", "/bin/bash", "--noprofile", "--norc", "-c"}, grammar, "FUNCNEST=20; w=(k 'l m'); declare -A m=([k]=s [ab]=t); ", ` "${w[@]}" ${m[k]}`},
		{"dash", []string{"timeout", "1", "/bin/dash", "-c"}, posixGrammar(), "", ""},
	} {
		t.Run(s.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(*seed, *seed))
			dir := workdir(t)
			all := 0
			for range *programs {
				line := s.before + "v=ab n=0 p=v; f() { echo q; }; g() { x=$1; }; echo rm ab > file; set -- s t; " +
					made(random, s.grammar, 'S', *depth) + `; args end $v "$x" "$i" "$@" $(f)` + s.after
				r := &recorder{}
				shell.Interpret(line, shell.Options{Dir: dir, POSIX: s.name == "dash", Env: map[string]string{"HOME": "/home/u"}}, r)
				if r.problem {
					continue
				}
				calls := run(t, dir, s.program, line)
				all += len(calls)
				for _, real := range calls {
					if !slices.ContainsFunc(r.calls, func(p []string) bool { return matches(p, real) }) {
						t.Errorf("%s\n gave args %q\n predicted  %q", line, real, r.calls)
						break
					}
				}
			}
			if all < *programs/2 {
				t.Errorf("%d programs made %d calls", *programs, all)
			}
		})
	}
}
