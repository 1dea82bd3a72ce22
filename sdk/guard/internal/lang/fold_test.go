package lang

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func folded(language, code string) string {
	s := strip(language, code)
	left := maxNested
	s.left = &left
	s.fold(language)
	return s.expand(s.code)
}

func TestFold(t *testing.T) {
	for _, test := range []struct{ language, code, want string }{
		{"python", `f('r' 'm', b"x" + "y")`, `f(rm, xy)`},
		{"python", `a = "x"; f(a, b.a, ab)`, `a = x; f(x, b.a, ab)`},
		{"python", `a = "x"; a = "y"; f(a)`, `a = x; a = y; f(a)`},
		{"python", `a = "x"; a += "y"; f(a)`, `a = x; a += y; f(a)`},
		{"python", `__import__("o"+"s").system(1)`, `os.system(1)`},
		{"python", `getattr(os, "sys" + "tem")(1)`, `os.system(1)`},
		{"python", `q = os.system; q(1); qq(1)`, `q = os.system; os.system(1); qq(1)`},
		{"python", `m = subprocess; m.run(1)`, `m = subprocess; subprocess.run(1)`},
		{"node", `a["ex"+"ec"](1); ["x"]`, `a.exec(1); [x]`},
		{"node", "a[`b${'c'}`](1)", `a.bc(1)`},
		{"node", `const {execSync: x} = require("y"); x(1)`, `const {execSync: x} = require(y); execSync(1)`},
		{"perl", `$x = "a" . "b"; exec $x, "$x c", $xy`, `$x = ab; exec ab, ab c, $xy`},
		{"perl", `&{"sys"."tem"}(1)`, `system(1)`},
		{"ruby", `Kernel.send(:system, 1); send("a", 2)`, `system( 1); a( 2)`},
		{"ruby", `method(:system).call(1)`, `system(1)`},
		{"php", `$f = "system"; $f(1); call_user_func("exec", 2)`, `$f = system; system(1); exec( 2)`},
		{"python", `os.__dict__["system"](1); vars(os)["popen"](2); eval("os.exec")(3)`, `os.system(1); os.popen(2); os.exec(3)`},
		{"php", `("sys"."tem")(1)`, `system(1)`},
		{"lua", `_G["os"]["execute"](1); require("os").execute(2)`, `_G.os.execute(1); os.execute(2)`},
		{"lua", `os["exe".."cute"](1)`, `os.execute(1)`},
		{"python", `v: str = "x"; f(v, f"{v}y")`, `v = x; f(x, xy)`},
		{"python", `v = "x"; v, w = "y", "z"; f(v)`, `v = x; v, w = y, z; f(v)`},
		{"python", `v = "x"; [w, v] = g(); f(v)`, `v = x; [w, v] = g(); f(v)`},
		{"python", `v = "x"; exec("v = 1"); f(v)`, `v = x; exec(v = 1); f(v)`},
		{"python", "v = 'x'\nfor v in g(): pass\nf(v)", "v = x\nfor v in g(): pass\nf(v)"},
		{"python", `a = ["x"]; a.insert(0, "y"); a += ["z"]; f(a)`, `a = [x]; [y,x,z].insert(0, y); [y,x,z] += [z]; f([y,x,z])`},
		{"python", `a = ["x"]; a.reverse(); f(a)`, `a = [x]; a.reverse(); f(a)`},
		{"node", `let v = "x"; [, v] = [1, "y"]; f(v)`, `let v = x; [, v] = [1, y]; f(v)`},
		{"node", `let v = "x"; v ??= "y"; f(v)`, `let v = x; v ??= y; f(v)`},
		{"perl", `$x = "a"; *x = *y; f($x)`, `$x = a; *x = *y; f($x)`},
		{"perl", `@x = ("a"); $x[0] = "b"; f(@x)`, `@x = (a); $x[0] = b; f(@x)`},
	} {
		if diff := cmp.Diff(test.want, folded(test.language, test.code)); diff != "" {
			t.Errorf("%s %s\n%s", test.language, test.code, diff)
		}
	}
}

// Regular expressions are taken out, what divides and what runs isn't.
func TestRegularExpressions(t *testing.T) {
	for _, test := range []struct{ language, code, want string }{
		{"perl", `print if /exec/i && m{system}`, `print if  && `},
		{"perl", `s/exec/run/g; tr/a-z/A-Z/; y(a)(b)`, `; ; `},
		{"perl", `s{a} {b}gx; qr#x#`, `; `},
		{"perl", `s/a/exec(1)/e`, `exec(1)/e`},
		{"perl", `/(?{ exec })/; /@{[ exec ]}/`, `/(?{ exec })/; /@{[ exec ]}/`},
		{"perl", `$x / exec / 1; $s{y} / 2 / 1; 4 / 2; f() /1/ 2`, `$x / exec / 1; $s{y} / 2 / 1; 4 / 2; f() /1/ 2`},
		{"perl", `$i++ /exec/ 1`, `$i++ /exec/ 1`},
		{"ruby", `puts $_ if /exec/; x.grep(/a\/b/); %r{c}`, `puts $_ if ; x.grep(); `},
		{"ruby", `a = b / exec / 2`, `a = b / exec / 2`},
		{"ruby", "/#{exec}/", "/#{exec}/"},
		{"node", `x = /[/]exec/.test(y); z = a / exec / b // c`, `x = .test(y); z = a / exec / b  `},
		{"node", "f(/open\n)/ 1", "f(/open\n)/ 1"},
		{"python", `a /exec/ b`, `a /exec/ b`},
	} {
		s := strip(test.language, test.code)
		if diff := cmp.Diff(test.want, s.expand(s.code)); diff != "" {
			t.Errorf("%s %s\n%s", test.language, test.code, diff)
		}
	}
}

// A string that is only shown or compared names no file.
func TestStringsThatAreOnlyTold(t *testing.T) {
	for _, test := range []struct {
		language, code string
		paths          int
	}{
		{"python", `print("/etc/x")`, 0}, {"python", `os.environ.get("A", "/root")`, 0}, {"python", `os.environ["A"] = "/usr"`, 0}, {"python", `x.startswith("/etc/")`, 0},
		{"python", `print(open("/etc/x"))`, 1}, {"python", `a = "/etc/x"`, 1}, {"python", `print("/etc/x" + f())`, 1}, {"python", `print(open("/etc/x").read(), "/etc/y")`, 2},
		{"node", `console.log("/etc/x")`, 0}, {"node", `console.log(f("/etc/x"))`, 1}, {"ruby", `puts "/etc/x"`, 0}, {"ruby", `puts "/etc/x".then { |x| f(x) }`, 1},
	} {
		paths := 0
		for _, e := range Script(test.language, test.code) {
			if e.Kind == Path {
				paths++
			}
		}
		if paths != test.paths {
			t.Errorf("%s %s names %d files; want %d", test.language, test.code, paths, test.paths)
		}
	}
}

// Perl has variables whose names are signs.
func TestAProgramThatASignNames(t *testing.T) {
	for _, code := range []string{`system([$, "a"])`, `open(H, "-|", $, "a")`, `system $, , "a"`, `exec {$,} $, , "a"`} {
		if effects := Script("perl", code); len(effects) == 0 {
			t.Errorf("%s: nothing", code)
		}
	}
}
