package guard

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// composer composes commands at random out of what may refer to one another: programs that run what they read, files
// that the same command writes, links, descriptors, loops and traps.
type composer struct{ *rand.Rand }

func (c composer) pick(of ...string) string { return of[c.IntN(len(of))] }

func (c composer) file() string {
	return c.pick("a", "b", "./a", "/dev/stdin", "/dev/fd/0", "/dev/fd/3", "/dev/stdout", "/dev/null", "x.py", "Makefile",
		"-", "d/a", "<(cat a)", "<(sh b)", "$x", "$(cat a)", "*", "a*", "justfile", "package.json", ".git/config",
		"~/.bashrc", "a.sql")
}

func (c composer) program() string {
	return c.pick("sh", "bash", "python3", "perl", "node", "ruby", "awk -f", "sed -f", "make -f", ".", "source", "xargs",
		"xargs sh", "psql -f", "sqlite3 x.db", "vim -s", "gdb -x", "cat", "tee", "eval", "exec", "env", "timeout 1 sh",
		"nohup sh", "m4", "dc", "just -f", "cmake -P", "parallel", "find . -exec sh {} +", "git -c core.editor=sh commit",
		"php", "lua", "npm run x", "busybox sh", "watch", "tclsh", "jq -f", "ed", "crontab", "gnuplot", "zsh")
}

func (c composer) redirection() string {
	file := c.file()
	return c.pick("", "", "", "< "+file, "> "+file, ">> "+file, "<> "+file, "3< "+file, "3> "+file, "<&3", ">&3", "2>&1",
		"3<&0", "0<&3", "&> "+file, "<<< 'sh a'", "{fd}< "+file, "<&$fd", "3>&-", "<&-", "4<&3", "3<&4")
}

func (c composer) command(depth int) string {
	if depth == 0 {
		return c.program() + " " + c.file() + " " + c.redirection() + " " + c.redirection()
	}
	inner, other := c.command(depth-1), c.command(depth-1)
	quoted := "'" + strings.ReplaceAll(inner, "'", `'\''`) + "'"
	return c.pick(
		inner+c.pick(" | ", " && ", " || ", "; ", " & ", " |& ", "\n")+other,
		"("+inner+") "+c.redirection(), "{ "+inner+"; } "+c.redirection(),
		"echo "+quoted+" > "+c.file(), "cat > "+c.file()+" <<'E'\n"+inner+"\nE\n",
		c.program()+" -c "+quoted, "ln -s "+c.file()+" "+c.file(), c.pick("cp ", "mv ")+c.file()+" "+c.file(),
		"x="+quoted, "x=$("+inner+")", "x=$x$x", "f() { "+inner+"; }; f "+c.file(),
		"for x in "+c.file()+" "+c.file()+"; do "+inner+"; done", "while "+inner+"; do "+other+"; done",
		"if "+inner+"; then "+other+"; fi",
		"trap "+quoted+" "+c.pick("EXIT", "DEBUG", "ERR", "INT"), "alias f="+quoted+"; f", "exec "+c.redirection()+"; "+inner,
		"eval \"$("+inner+")\"",
		"printf 'all:\\n\\t"+strings.ReplaceAll(inner, "'", "")+"\\n' > Makefile; make",
		"case "+c.file()+" in *) "+inner+";; esac", "coproc { "+inner+"; }",
		"set -- "+c.file()+"; "+c.program()+" \"$@\" "+c.redirection(), "export x="+c.file()+"; "+inner,
	)
}

// Whatever refers to whatever, a decision comes to its end.
func TestComposedCommands(t *testing.T) {
	g := mustNew(t, Policy{Workspace: t.TempDir(), Restrict: true, Exec: ExecPolicy{DenyPatterns: true}})
	c := composer{rand.New(rand.NewPCG(1, 2))}
	for range 4000 {
		text := c.command(1 + c.IntN(5))
		if d := g.DecideCommand(Command{Text: text}); d.Rule == "exec.internal" {
			t.Errorf("%q: %s", text, d.Reason)
		}
	}
}

// Scripts that run themselves are not followed without end.
func TestSelfExecutingScript(t *testing.T) {
	g := mustNew(t, Policy{Workspace: t.TempDir(), Restrict: true, Exec: ExecPolicy{DenyPatterns: true}})
	for text, want := range map[string]Verdict{
		"sh < /dev/stdin": Allow, "sh <> /dev/stdin": Allow, "python3 < /dev/fd/0": Allow, "exec < /dev/stdin; sh": Allow,
		"exec 3< /dev/fd/3; sh <&3":    Allow,
		"ln -s a b; ln -s b a; sh < a": Allow, "echo '. x' > x; sh x": Deny, "echo 'sh < x' > x; sh < x": Deny,
		"echo '. y' > x; echo '. x' > y; . ./x": Deny,
	} {
		if d := g.DecideCommand(Command{Text: text}); d.Verdict != want {
			t.Errorf("%s: %s %s; want %s", text, d.Verdict, d.Reason, want)
		}
	}
}
