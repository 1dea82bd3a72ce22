package guard

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// To search further: go test ./sdk/guard -run TestWhatIsAllowedDeletesNothing -args -programs 6000 -seed 2
var (
	flowPrograms = flag.Int("programs", 600, "how many programs are made at random")
	flowSeed     = flag.Uint64("seed", 1, "what they are made from")
)

// flows are parts of programs in which a variable may come to name rm, by whatever way: @v is a variable, @w a word, @c a condition,
// @b some statements and @q some without quotes.
var flows = struct{ words, conditions, sets, deletes, compounds []string }{
	words:      []string{"echo", "rm", "rm", ":", "ls", "r", "m"},
	conditions: []string{"true", "false", "[ -f a.txt ]", `[ -n "$@v" ]`, "((n++<2))", "[[ $@v == r* ]]", "[ $# -gt 0 ]", "! true", "read l < a.txt"},
	sets: []string{"@v=@w", "@v=@w", "@v=@w", "@v=$@v", "@v=${@v:-@w}", "@v=${@v:+@w}", "@v=${@v%?}m", "@v=$(echo @w)", "@v+=m", "export @v=@w", "declare @v=@w", "local @v=@w", ": ${@v:=@w}",
		"printf -v @v %s @w", "read @v <<< @w", "read -r @v _ < <(echo @w x)", "unset @v", "set -- @w @w", "shift", "a=(@w @w)", "a+=(@w)", "a[1]=@w", "@v=${a[1]}", "@v=${a[@]}", "p=@v", "@v=${!p}", "@v=$1",
		"mapfile -t a < <(printf '%s\\n' @w @w)", "echo @w > f1", "@v=$(cat f1)", "declare -n q=@v; q=@w; unset -n q", "declare -A h=([k]=@w); @v=${h[k]}", "IFS=, read @v w <<< @w,@w", "getopts ab: @v -b @w; @v=$OPTARG",
		"readonly z=@w; @v=$z", "@v={@w,}", "eval @v=@w", `eval "@v=$@v"`, "trap '@v=@w' DEBUG", "trap '@v=@w' RETURN", "for @v in @w @w; do :; done", "for @v in @w @w; do @c && break; done", "case @w in e*) @v=@w;; *) @v=@w;; esac",
		"select @v in @w @w; do break; done <<< 1", "{ @v=@w; } > f2", "( @v=@w )", "@v=@w :", "@v=@w export @v", "@v=@w &", "false || @v=@w", "echo @w | read @v", "@v=$(rev <<< mr)", "@v=$(cut -c1-2 <<< rmx)", "alias al=@w", "n=0", "shopt -s lastpipe", "set -e", "set -o posix"},
	deletes: []string{"$@v -rf build", "$@v -rf build", "$@v -rf build", `"$@v" -r build`, `eval "$@v -rf build"`, "${a[0]} -rf build", `"${a[@]}" -rf build`, "$1 -rf build", `"$@" -rf build`, "al -rf build", `bash -c "$@v -rf build"`, "env $@v -rf build",
		"command $@v -rf build", "xargs $@v -rf <<< build", `echo "$@v -rf build" | sh`, "find build -maxdepth 0 -exec $@v -rf {} \\;", "exec $@v -rf build", "timeout 1 $@v -rf build", "$(cat f1) -rf build", "sh f1", "echo $@v -rf build > f1", "f -rf build", "g $@v", "h"},
	compounds: []string{"if @c; then @b; fi", "if @c; then @b; else @b; fi", "for i in a b; do @b; done", "for i in *.txt; do @b; done", "for i in $(ls); do @b; done", "for i in $(seq 2); do @b; done", `for i in "$@"; do @b; done`, "for i in ${a[@]}; do @b; done",
		"for @v in @w @w; do @b; done", "while ((n++<3)); do @b; done", "until ((n++>2)); do @b; done", "while read l; do @b; done < a.txt", "printf '%s\\n' a b | while read l; do @b; done", "for ((i=0;i<2;i++)); do @b; done", "case $@v in rm|echo) @b;; *) @b;; esac",
		"{ @b; }", "( @b )", "f() { @b; }", "g() { @b; }", "h() { @b; }", "f @w @w", "g @w", "h", "@c && { @b; }", "@c || { @b; }", "trap '@q' EXIT", "trap '@q' ERR", "eval '@q'", "echo x | { @b; }", "{ @b; } 2>/dev/null", "break", "continue", "return 0", "while :; do @b; break; done", "f() ( @b )"},
}

// program is a program of such parts.
func program(r *rand.Rand) string {
	one := func(from []string) string { return from[r.IntN(len(from))] }
	var fill func(text string, depth int) string
	statements := func(most, depth int) string {
		var list []string
		for range 1 + r.IntN(most) {
			switch n := r.IntN(10); {
			case n < 5:
				list = append(list, fill(one(flows.sets), depth))
			case n < 7 || depth > 2:
				list = append(list, fill(one(flows.deletes), depth))
			default:
				list = append(list, fill(one(flows.compounds), depth+1))
			}
		}
		return strings.Join(list, "; ")
	}
	fill = func(text string, depth int) string {
		before, rest, found := strings.Cut(text, "@")
		if !found || rest == "" {
			return text
		}
		by := "@" + rest[:1]
		switch rest[0] {
		case 'v':
			by = one([]string{"v", "w", "x"})
		case 'w':
			by = one(flows.words)
		case 'c':
			by = fill(one(flows.conditions), depth)
		case 'b':
			by = statements(3, depth)
		case 'q':
			by = strings.ReplaceAll(statements(2, depth), "'", "")
		}
		return before + by + fill(rest[1:], depth)
	}
	return one([]string{"", "v=echo; ", "v=echo; w=echo; x=echo; ", "set -- echo ls; ", "a=(echo ls); v=echo; ", "n=0; v=echo; "}) + statements(6, 0)
}

// Programs that are put together at random and allowed delete no directory when bash runs them.
func TestWhatIsAllowedDeletesNothing(t *testing.T) {
	sandbox, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal("install bubblewrap: programs made at random are run in it alone")
	}
	r, g := rand.New(rand.NewPCG(*flowSeed, *flowSeed)), mustNew(t, Policy{Workspace: "/home/user/ws", Restrict: true, Exec: ExecPolicy{DenyPatterns: true}})
	var allowed []string
	for range *flowPrograms {
		if text := program(r); g.Command(Command{Text: text, Env: map[string]string{"HOME": "/home/user"}}).Verdict == Allow {
			allowed = append(allowed, text)
		}
	}
	if len(allowed) < *flowPrograms/20 {
		t.Fatalf("of %d programs only %d are allowed", *flowPrograms, len(allowed))
	}
	// All of them in one sandbox, one after the other, each in a directory of its own.
	const run = `while IFS= read -r -d '' program; do
	mkdir -p /tmp/run/build && cd /tmp/run && echo one > a.txt && echo two > b.txt && echo x > build/x
	timeout -k 1 5 bash -c "$program" < /dev/null > /dev/null 2>&1
	[ -e build/x ] || printf '%s\0' "$program"
	cd / && rm -rf /tmp/run
done`
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, sandbox, "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
		"--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/tmp", "bash", "-c", run)
	cmd.Stdin = strings.NewReader(strings.Join(allowed, "\x00") + "\x00")
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, problems.String())
	}
	for _, text := range strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00") {
		if text != "" {
			t.Errorf("allowed, and deletes a directory:\n%s", text)
		}
	}
	t.Logf("%d of %d programs were allowed and run", len(allowed), *flowPrograms)
}

// Outside of functions local fails, and leaves the variable as it was.
func TestLocalFailsOutsideOfFunctions(t *testing.T) {
	g := mustNew(t, Policy{Workspace: "/home/user/ws", Restrict: true, Exec: ExecPolicy{DenyPatterns: true}})
	for text, want := range map[string]Verdict{
		"v=rm; local v=echo; $v -rf build":               Deny,
		"v=rm; command local v=echo; $v -rf build":       Deny,
		"f() { v=rm; local v=echo; $v -rf build; }; f":   Allow,
		"f() { local v=rm; $v -rf build; }; f":           Deny,
		"v=echo; f() { local v=rm; }; f; $v -rf build":   Allow,
		"v=echo; f() { v=rm; }; f; $v -rf build":         Deny,
		"for v in rm echo; do break; done; $v -rf build": Deny,
	} {
		if d := g.Command(Command{Text: text}); d.Verdict != want {
			t.Errorf("%q: %s; want %s", text, d.Verdict, want)
		}
	}
}
