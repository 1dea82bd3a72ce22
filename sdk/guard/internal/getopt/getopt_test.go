package getopt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shown writes arguments that were taken apart as "-o=value" for options and the words of operands.
func shown(a ParsedArgs, args []string) string {
	var words []string
	for _, o := range a.Options {
		if o.Has {
			words = append(words, o.Name+"="+o.Value)
		} else {
			words = append(words, o.Name)
		}
	}
	words = append(words, "|")
	for _, i := range a.Operands {
		words = append(words, args[i])
	}
	if a.Rest > 0 {
		words = append(append(words, ">"), args[a.Rest:]...)
	}
	return strings.Join(words, " ")
}

func TestParse(t *testing.T) {
	plain := ParseOptionSpec("o=w f=r e=d --output=w --format=d --form= -TT=c")
	stop, single, bare := plain, ParseOptionSpec("-name=d -o=w"), ParseOptionSpec("f=r C=g")
	marked := ParseOptionSpec("i=?d m=*p --color=?d --exec=*p a=dd -DNAME=d")
	marked.Values["+"], marked.Slash = "c", true
	stop.Stop, single.Single, bare.Bare = 1, true, true
	for _, c := range []struct {
		spec       OptionSet
		args, want string
	}{
		{plain, "a -v b", "-v | a b"},
		{plain, "-o out a", "-o=out | a"},
		{plain, "-oout a", "-o=out | a"},
		{plain, "-vo out a", "-v -o=out | a"},
		{plain, "-vfx -e y", "-v -f=x -e=y |"},
		{plain, "--output out --output=b a", "--output=out --output=b | a"},
		{plain, "--outp out a", "--outp=out | a"},
		{plain, "--format x", "--format=x |"},
		{plain, "--form x", "--form | x"},
		{plain, "--unknown=x --unknown y", "--unknown=x --unknown | y"},
		{plain, "-- -o x", "| -o x"},
		{plain, "a -- -v", "| a -v"},
		{plain, "-", "| -"},
		{plain, "-o", "-o |"},
		{plain, "-TT cmd -T x", "-TT=cmd -T | x"},
		{stop, "-v a -o b", "-v | a -o b"},
		{single, ". -name x -o=y --name z", "-name=x -o=y -name=z | ."},
		{marked, "-i.bak -i a --color --color=x b", "-i=.bak -i --color --color=x | a b"},
		{marked, "-a x y z", "-a=x | z"},
		{marked, "-DNAME=x a", "-DNAME=x | a"},
		{marked, "+q a + /t:x /a/b /m", "+=q /t=x /m | a + /a/b"},
		{marked, "a -vm -i b -i c", "-v -m -i | a > b -i c"},
		{marked, "-mb -i c", "-m=b | > -i c"},
		{marked, "a --exec -- -i", "--exec | a > -i"},
		{marked, "a -m", "-m | a"},
		{bare, "xf a.tar b", "-x -f=a.tar | b"},
		{bare, "xfC a.tar dir b", "-x -f=a.tar -C=dir | b"},
		{bare, "-xfa.tar b", "-x -f=a.tar | b"},
	} {
		args := strings.Fields(c.args)
		if diff := cmp.Diff(c.want, shown(c.spec.ParseArgs(args), args)); diff != "" {
			t.Errorf("%s\n%s", c.args, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("o=w --output=w", "-o x --output=y -- z", true, false, false)
	f.Add("a=dd -b=r", "-a 1 2 -b", false, true, true)
	f.Fuzz(func(t *testing.T, form, line string, stop, single, bare bool) {
		spec := ParseOptionSpec(form)
		spec.Single, spec.Bare = single, bare
		if stop {
			spec.Stop = 1
		}
		args := strings.Fields(line)
		parsed := spec.ParseArgs(args)
		for _, i := range parsed.Operands {
			if i < 0 || i >= len(args) {
				t.Errorf("%q: operand %d", line, i)
			}
		}
		for _, o := range parsed.Options {
			if parsed.Rest < 0 || parsed.Rest > len(args) {
				t.Errorf("%q: the rest begins at %d", line, parsed.Rest)
			}
			if o.Arg < 0 || o.Arg >= len(args) || o.At < 0 || o.At >= len(args) {
				t.Errorf("%q: option %+v", line, o)
			}
		}
	})
}
