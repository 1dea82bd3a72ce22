package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// To search further: go test ./sdk/guard -run TestWhatIsAllowedDeletesNothing -args -programs 6000 -seed 2
var (
	flowPrograms = flag.Int("programs", 200, "how many programs are made at random")
	flowSeed     = flag.Uint64("seed", 1, "what they are made from")
)

// flows are parts of programs of a language in which a variable may come to name rm, by whatever way. In them @v is a variable, @w a word, @e an
// expression, @c a condition, @s a command that deletes, @b some statements and @q some without quotes.
type flows struct {
	Words, Values, Conditions, Sets, Starts, Deletes, Compounds []string

	Separator, Indent string            // of statements, and of those in others
	Before, After     string            // what makes a command of a program
	First             []string          // one of which it begins with
	Given             map[string]string // statements by the name that they give a value, where the program has it
}

// program is a program of such parts.
func (f flows) program(r *rand.Rand) string {
	one := func(from []string) string { return from[r.IntN(len(from))] }
	var fill func(text string, depth int) string
	statements := func(most, depth int) string {
		var list []string
		for range 1 + r.IntN(most) {
			switch n := r.IntN(10); {
			case n < 5:
				list = append(list, fill(one(f.Sets), depth))
			case n < 7 || depth > 2:
				list = append(list, fill(one(f.Deletes), depth))
			default:
				list = append(list, fill(one(f.Compounds), depth+1))
			}
		}
		return strings.Join(list, f.Separator)
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
			by = one(f.Words)
		case 'e':
			if by = one(f.Words); depth < 4 && f.Values != nil {
				by = fill(one(f.Values), depth+1)
			}
		case 's':
			if f.Starts != nil {
				by = fill(one(f.Starts), depth)
			}
		case 'c':
			by = fill(one(f.Conditions), depth)
		case 'b':
			by = statements(3, depth)
			if f.Indent != "" {
				by = f.Indent + strings.ReplaceAll(by, "\n", "\n"+f.Indent)
			}
		case 'q':
			by = strings.ReplaceAll(statements(2, depth), "'", "")
		}
		return before + by + fill(rest[1:], depth)
	}
	body := statements(6, 0)
	if f.First != nil {
		body = one(f.First) + body
	} else {
		body += f.Separator + fill(one(f.Deletes), 0)
	}
	var given []string
	for _, name := range slices.Sorted(maps.Keys(f.Given)) {
		if regexp.MustCompile(`\b` + name + `\b`).MatchString(body) {
			given = append(given, f.Given[name]+f.Separator)
		}
	}
	return f.Before + strings.Join(given, "") + body + f.After
}

// flowLanguages are the parts of programs of each language.
func flowLanguages(t *testing.T) (languages map[string]flows) {
	t.Helper()
	data, err := os.ReadFile("testdata/flows.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &languages); err != nil {
		t.Fatal(err)
	}
	return languages
}

// Programs that are put together at random and allowed delete no directory when they are run.
func TestWhatIsAllowedDeletesNothing(t *testing.T) {
	sandbox, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal("install bubblewrap: programs made at random are run in it alone")
	}
	languages := flowLanguages(t)
	for _, language := range slices.Sorted(maps.Keys(languages)) {
		t.Run(language, func(t *testing.T) { languages[language].deleteNothing(t, sandbox) })
	}
}

// deleteNothing makes programs, and runs those that are allowed.
func (f flows) deleteNothing(t *testing.T, sandbox string) {
	r, g := rand.New(rand.NewPCG(*flowSeed, *flowSeed)), mustNew(t, Policy{Workspace: "/home/user/ws", Restrict: true, Exec: ExecPolicy{DenyPatterns: true}})
	var allowed []string
	for range *flowPrograms {
		if text := f.program(r); g.Command(Command{Text: text, Env: map[string]string{"HOME": "/home/user"}}).Verdict == Allow {
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
