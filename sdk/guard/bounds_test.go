package guard

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestBounds(t *testing.T) {
	t.Parallel()
	g := mustNew(t, everything())
	for name, c := range map[string]struct{ line, rule string }{
		"just short enough":      {"echo " + strings.Repeat("x", 16<<10-5), ""},
		"a byte too long":        {"echo " + strings.Repeat("x", 16<<10-4), "exec.too-long"},
		"16 MB":                  {"echo " + strings.Repeat("x", 16<<20), "exec.too-long"},
		"200,000 substitutions":  {strings.Repeat("$(", 200_000), "exec.too-long"},
		"60 levels":              {strings.Repeat("(", 60) + "ls" + strings.Repeat(")", 60), ""},
		"65 levels":              {strings.Repeat("(", 65) + "ls" + strings.Repeat(")", 65), "exec.too-complex"},
		"8,000 open brackets":    {strings.Repeat("(", 8000), "exec.too-complex"},
		"nested substitutions":   {strings.Repeat("$(", 70) + "ls" + strings.Repeat(")", 70), "exec.too-complex"},
		"nested backticks":       {strings.Repeat("`", 5000), "?"},
		"nested quotes":          {strings.Repeat(`"$(`, 60) + "ls" + strings.Repeat(`)"`, 60), "exec.dynamic"},
		"nested expansions":      {"echo " + strings.Repeat("${a:-", 70) + strings.Repeat("}", 70), "exec.too-complex"},
		"nested ifs":             {strings.Repeat("if true; then ", 400) + "ls" + strings.Repeat("; fi", 400), "?"},
		"nested arithmetic":      {"echo $((" + strings.Repeat("-", 5000) + "1))", "?"},
		"nested tests":           {"[[ " + strings.Repeat("! ", 4000) + "a ]]", "?"},
		"a brace bomb":           {"echo " + strings.Repeat("{a,b}", 30), "?"},
		"another":                {"echo {1..1000000000}", "?"},
		"3,000 braces":           {"echo " + strings.Repeat("{a,b}", 3000), "exec.too-complex"},
		"a word with few braces": {"echo {src,test}/{a,b}{.go,.py}{,.orig}", ""},
		"letters and steps":      {"echo {a..z}{a..z}{a..z}{a..z}", "?"},
		"many commands":          {strings.Repeat("ls;", 5000), "exec.too-complex"},
		"loops in loops":         {strings.Repeat("for i in {1..50}; do ", 8) + "ls" + strings.Repeat("; done", 8), "?"},
		"functions calling each": {strings.Repeat("f(){ f; f; }; ", 100) + "f", "?"},
		"a doubling variable":    {"x=aaaaaaaa; " + strings.Repeat("x=$x$x; ", 60) + "echo $x", "?"},
		"a long value, often":    {"x=" + strings.Repeat("a", 4000) + "; echo " + strings.Repeat("$x", 5000), "?"},
		"files that run others":  {chained(64), "exec.too-complex"},
		"a doubling file":        {"echo aaaaaaaa > f; " + strings.Repeat(`echo "$(cat f)$(cat f)" > f; `, 100), "?"},
		"a doubling set":         {"set -- a b; " + strings.Repeat(`set -- "$@" "$@"; `, 60) + "echo $@", "?"},
		"a doubling function": {`f() { f2 "$@" "$@"; }; f2() { f3 "$@" "$@"; }; ` + strings.Repeat("f a b c d e f; ", 200),
			"?"},
		"a doubling replacement": {"x=aaaaaaaaaaaa; " + strings.Repeat("x=${x//a/aaaaaaaa}; ", 40), "?"},
		"a doubling array":       {"a=(a b); " + strings.Repeat(`a+=("${a[@]}"); `, 60) + "echo ${a[@]}", "?"},
		"a doubling eval":        {"x='eval \"$x;$x\"'; eval \"$x\"", "?"},
		"a long printf":          {"printf '%1000000000d' 1", "?"},
		"a long pad":             {"x=$(printf '%0999999999d' 1); echo $x", "?"},
		"down and down":          {strings.Repeat("cd a;", 3200), "?"},
		"ways and ways":          {strings.Repeat("if a; then x=$x1; cd a; else x=$x2; fi; ", 100), "?"},
		"a long CDPATH, often": {"CDPATH=" + strings.Repeat("a:", 2000) + ";" + strings.Repeat("cd x;", 800),
			"exec.too-complex"},
		"a long PATH":            {"PATH=" + strings.Repeat("a:", 8000) + " ls", ""},
		"many imports":           {"python3 -c 'from os import " + strings.Repeat("a,", 4000) + "b'", "?"},
		"many extended patterns": {"ls " + strings.Repeat("+(a|b|c)/", 1700), "?"},
		"nested extended ones":   {"ls " + strings.Repeat("@(a|", 60) + strings.Repeat(")", 60), ""},
		"make in make":           {"printf 'all:\\n" + strings.Repeat("\\t$(MAKE) all\\n", 900) + "' > Makefile; make", "?"},
		"SQL in SQL":             {`printf '\\i x.sql\n\\i x.sql\n' > x.sql; psql -f x.sql`, "?"},
		"SQL in a few files":     {`echo 'select 1' > a.sql; printf '\\i a.sql\n\\i a.sql\n' > b.sql; psql -f b.sql`, ""},
		"blocks in blocks":       {"psql -c 'do $$ do $a$ do $b$ do $c$ " + strings.Repeat("do $d$ ", 900) + "'", ""},
		"a doubling make":        {"make --eval='" + strings.Repeat("a=$(a)$(a)\n", 1200) + "all: ; $(a)'", "?"},
		"open expressions":       {"node -e '" + strings.Repeat("=/[", 5400) + "'", ""},
		"many constants": {"python3 -c 'a=\"" + strings.Repeat("x", 4000) + "\"\n" + strings.Repeat("b=a+a+a;",
			1000) + "'", ""},
		"code in code":        {"ruby -e '" + strings.Repeat("eval(\"#{", 1500) + "'", "?"},
		"functions handed on": {"python3 -c 'f(" + strings.Repeat("os.system,\"ls\",", 1000) + "\"a\")'", "?"},
		"many written files": {"python3 -c '" + strings.Repeat("f=open(\"s\",\"w\");f.write(\"x\");", 480) + "'; sh s",
			"?"},
		"awk that prints": {"awk 'BEGIN{" + strings.Repeat("print \"x\">\"s\";", 1000) + "}'; sh s", "?"},
		"joins of joins":  {"python3 -c '" + strings.Repeat("\"\".join([", 900) + "'", "?"},
		"names of names": {"a='b+b+b+b';b='c+c+c+c';c='d+d+d+d';d='e+e+e+e';e='f+f+f+f';f='a+a+a+a'; echo $((a))",
			""},
		"a batch file of itself": {"cmd /c '" + strings.Repeat("echo a.bat>>a.bat&", 850) + "a.bat'", "?"},
		"many files":             {strings.Repeat("(a>f$x);", 1500), "?"},
		"many parameters, often": {"set -- " + strings.Repeat("a ", 2000) + ";" + strings.Repeat(`f "$@";`, 1500),
			"exec.too-complex"},
		"many shifts": {"set -- " + strings.Repeat("a ", 2000) + ";" + strings.Repeat("shift;", 1900), "?"},
		"replacements, often": {"x=" + strings.Repeat("a", 3000) + ";echo " + strings.Repeat("${x//a/b}", 1400),
			"exec.too-complex"},
		"a pattern of stars":   {"x=" + strings.Repeat("a", 4000) + ";echo ${x##" + strings.Repeat("*a", 500) + "b}", "?"},
		"wide printfs":         {strings.Repeat("x=$(printf %9999d 1);", 750), "?"},
		"time of time":         {strings.Repeat("time ", 3200) + "ls", ""},
		"directories, pushed":  {strings.Repeat("pushd a;", 2000), "?"},
		"ways of a case":       {"case x in " + strings.Repeat("a) cd $x;; ", 1400) + "esac; ls", "?"},
		"cmd in cmd":           {"cmd /c " + strings.Repeat(`start "a" `, 1500) + "dir", "?"},
		"a big shift":          {"echo $((1<<99999999999))", "?"},
		"division by zero":     {"echo $((1/0)) $((5%0))", "?"},
		"a huge power":         {"echo $((9**99999999))", "?"},
		"strings that are run": {"lua -e '" + strings.Repeat(`load"a" `, 2000) + "'", "?"},
		"tmux in tmux":         {"printf 'source c\\nsource c\\n' > c; tmux -f c", "?"},
		"a doubling cmake": {"printf 'set(x " + strings.Repeat("a", 5000) + ")\\n" + strings.Repeat("${x}", 2500) +
			"' > CMakeLists.txt; cmake .; make", "?"},
		"another shell of make":      {"printf 'SHELL=a\\nx:\\n" + strings.Repeat("\\tb\\n", 3000) + "' > Makefile; make", "?"},
		"names in a circle":          {"declare -n a=b; declare -n b=a; $a x; echo $b", "exec.dynamic"},
		"a huge slice":               {"x=abc; echo ${x:99999999999999999999} ${x:-1:-5}", "?"},
		"invalid UTF-8":              {"echo \xff\xfe", "exec.malformed"},
		"NUL":                        {"ls\x00-la", "exec.malformed"},
		"carriage return":            {"ls\r\nrm", "exec.malformed"},
		"bidirectional mark":         {"echo \u202e", "exec.malformed"},
		"zero width":                 {"l\u200bs", "exec.malformed"},
		"a joiner in a program":      {"cu\u200drl https://example.com", "exec.malformed"},
		"a soft hyphen in an option": {"git clean --dry\u00ad-run", "exec.malformed"},
		"a mark after a program":     {"ls\u200e -la", "exec.malformed"},
		"a mark after a path":        {"cat a.txt\u200f", "exec.malformed"},
		"a hyphen in quoted program": {"'gi\u00adt' status", "exec.malformed"},
		"a hyphen in nested code":    {"bash -c 'gi\u00adt status -s'", "exec.malformed"},
		"a hyphen in a substitution": {"echo \"a $(gi\u00adt status) b\"", "exec.malformed"},
		"an override in a message":   {"git commit -m 'fix \u202e txt.exe'", "exec.malformed"},
		"an isolate in a message":    {"git commit -m 'שלום \u2066 x'", "exec.malformed"},
		"an escaped quote":           {"echo \\' gi\u00adt x", "exec.malformed"},
		"an emoji":                   {"git commit -m '👨\u200d👩\u200d👧 family'", ""},
		"an emoji alone":             {"echo 🏳️\u200d🌈", ""},
		"Persian":                    {"git commit -m \"می\u200cخواهم\" && touch می\u200cخواهم.txt", ""},
		"Hebrew":                     {"git commit -m 'שלום\u200f 12\u200f'", ""},
		"Arabic":                     {"echo \u061cسلام\u200e > سلام\u200f.md", ""},
		"a soft hyphen":              {"git commit -m 'Donau\u00addampf schiff\u00ad'", ""},
		"a German file":              {"ls Grö\u00adße.txt", ""},
		"text for a program":         {"cat > notes.md <<'EOF'\nكتاب\u200c ها\u200e\nEOF", ""},
		"escape":                     {"echo \x1b[2J", "exec.malformed"},
		"the guard's own marks":      {"echo \uFDD0", "exec.malformed"},
		"marks by escapes":           {`$'\uFDD0' x`, "?"},
		"nothing":                    {"", ""},
		"only a comment":             {"# rm -rf /", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := g.DecideCommand(Command{Text: c.line, Env: map[string]string{"HOME": "/home/user"}})
			switch {
			case d.Rule == "exec.internal":
				t.Errorf("the guard panicked: %s", d.Reason)
			case c.rule == "?":
			case c.rule == "" && d.Verdict != Allow, d.Rule != c.rule:
				t.Errorf("%s %s %q; want rule %q", d.Verdict, d.Rule, d.Reason, c.rule)
			}
		})
	}
}

// chained is a command that writes files of which each runs the next ones many times, and then runs the first.
func chained(files int) string {
	var b strings.Builder
	for i := range files {
		fmt.Fprintf(&b, "echo '%s'>s%d;", strings.Repeat(fmt.Sprintf("sh s%d;", i+1), 20), i)
	}
	return b.String() + "sh s0"
}

// In every dialect what is not a program of it is refused, and nothing panics.
func TestDialects(t *testing.T) {
	g := mustNew(t, everything())
	for _, c := range []struct {
		dialect ShellDialect
		line    string
		want    Verdict
	}{
		{Bash, "cat <(ls)", Allow}, {POSIX, "cat <(ls)", Allow},
		{Bash, "ls a[0]", Allow}, {POSIX, "ls a[0]", Allow},
		{POSIX, "rm -rf x", Deny}, {POSIX, "ls -la", Allow}, {POSIX, "$'rm' -rf x", Deny},
		{Cmd, "del /f x", Deny}, {Cmd, "dir", Allow}, {Cmd, `type C:\x`, Deny}, {Cmd, "d^el /q x", Deny},
		{Cmd, "echo a & rd /s /q b", Deny},
		{PowerShell, "Remove-Item -Recurse x", Deny}, {PowerShell, "Get-ChildItem", Allow}, {PowerShell, "iex $x", Deny},
		{PowerShell, `& { ri -r x }`, Deny},
	} {
		if d := g.DecideCommand(Command{Text: c.line, Dialect: c.dialect}); d.Verdict != c.want {
			t.Errorf("%q %s: %+v", c.dialect, c.line, d)
		}
	}
}

func TestWhereACommandStarts(t *testing.T) {
	ws, outside := workspace(t)
	link(t, outside, ws+"/link")
	g := mustNew(t, Policy{Workspace: ws, Restrict: true, Exec: ExecPolicy{DenyPatterns: true}})
	for dir, want := range map[string]Verdict{"": Allow, ".": Allow, "sub": Allow, ws: Allow, ws + "/sub": Allow,
		"..": Deny, "/": Deny, outside: Deny, "link": Deny} {
		if d := g.DecideCommand(Command{Text: "ls", Dir: dir}); d.Verdict != want {
			t.Errorf("in %q: %+v", dir, d)
		}
	}
	for dir, want := range map[string]Verdict{"": Deny, "sub": Allow, ws + "/sub": Allow} {
		if d := g.DecideCommand(Command{Text: "cat ../a.txt", Dir: dir}); d.Verdict != want {
			t.Errorf("a step up in %q: %+v", dir, d)
		}
	}
}

// Whatever grows with the square of a command's length, or doubles, shows in the memory that is taken for it.
func TestMemoryOfLongCommandIsBounded(t *testing.T) {
	const most = 64 << 20
	g := mustNew(t, everything())
	for name, line := range map[string]string{
		"readonly variables on many ways": repeated("", "readonly v=rm; a&&") + "ls",
		"integers on many ways":           repeated("", "declare -i v=1; a&&") + "ls",
		"many copies of what is read":     repeated("head -c 16 x | xxd -p", "sed - "),
		"many moves":                      repeated("echo a > t; mv a", " t"),
		"many moves of what is written":   repeated("touch ./-a; mv ", "-- ./-a "),
		"many outputs of a compiler":      repeated("echo a | sort -u", " -o/ gcc"),
		"many redirections":               repeated("ls", " 3> out"),
		"many redirections of others":     "ls" + strings.Repeat(" 3>a 4>b 5>c 6>d 7>e 8>f", 500),
		"a long pipeline":                 repeated("ls", "|sqlite"),
		"a long pipeline of nine":         repeated("ls", "|a|b|c|d|e|f|g|h|i"),
		"names that lead to each other":   repeated("declare -n a=b; declare -n b=a; ", "$a x;"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		g.DecideCommand(Command{Text: line})
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > most {
			t.Errorf("%s: %d MiB are taken for %.60q", name, taken>>20, line)
		}
	}
}

// repeated is a command of the largest size.
func repeated(begin, part string) string {
	return begin + strings.Repeat(part, (MaxCommandLength-len(begin)-len("ls"))/len(part))
}
