package lang

import "testing"

// Whatever the code, its effects are told, and a command or a path among them comes from somewhere.
func FuzzEffects(f *testing.F) {
	for _, language := range []string{"python", "perl", "ruby", "node", "php", "lua", "other", "sed", "awk", "sql", "vim", "cron", "make", "gdb", "tcl", "dc", "gnuplot", "curl", "pdb", "puppet", "sqlite", "redis", "mongo", "wget", "lisp"} {
		for _, code := range []string{
			`import os as o; o.system("rm -rf x" + y)`, `open(P, "|cmd"); q{a} =~ m/x/`, "`a #{b}`", `s/a/b/w f`, `BEGIN { "date" | getline x; print > "f" }`,
			`.shell ls`, `:w !sh`, "a:\n\techo $(shell b)", "* * * * * x", "'''unclosed", `"\`, "s", "s/", "y/a", "a\\", "{", "$(shell ((", "@", "/x", "print |", `x = "a"; y = x + "b"; require("c")["d"]("e")`, `s/(/)/e; m{a}; y/`, "$(", "a = $(a)\nb: c\n\t$@", `f"{x(1)}" "#{y}"`, `f=open("a","w");f.write("b");print("c",file=f)`, `"".join(["a","b"])[::-1]`, `chr(1,99999999999)`, "!a\noutput = \"/b\"", `exec { "a": command => ["b"] }`, "$`a ${b}`", `BEGIN{ARGV[1]="a"; print "b" > "c"}`, "DO $$ DROP TABLE a $$;", "delete from a -- b", `path.join("a","/b")`, "flushall\nconfig set dir a", "use_askpass = a", "(sh '(\"a\"))",
		} {
			f.Add(language, code)
		}
	}
	f.Fuzz(func(t *testing.T, language, code string) {
		for _, e := range Effects(language, code) {
			if e.Kind == "" || e.Kind == Argv && len(e.Argv) == 0 {
				t.Errorf("%s %q: %+v", language, code, e)
			}
		}
	})
}
