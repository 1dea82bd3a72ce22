package lang

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// commands are the shell commands among effects, in their order.
func commands(effects []Effect) string {
	var out []string
	for _, e := range effects {
		if e.Kind == Shell {
			out = append(out, e.Text)
		}
	}
	return strings.Join(out, " & ")
}

func TestMake(t *testing.T) {
	for _, test := range []struct{ code, words, want string }{
		{"all:\n\tls\nclean:\n\trm x\n", "", "ls"},
		{"all:\n\tls\nclean:\n\trm x\n", "clean", "rm x"},
		{"all: a b\na:\n\t@one\nb: ; -two\nc:\n\tthree", "", "one & two"},
		{"CC := gcc\napp: a.o b.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t${CC} -c $<", "", "gcc -o app a.o b.o & gcc -c %.c"},
		{"X = $(Y)\nY = deep\nall:\n\techo $X $$HOME $(NONE)", "", "echo deep $HOME ${NONE}"},
		{"X = file\nall:\n\techo $(X)", "X=told", "echo told"},
		{"V := $(shell git describe)\nall:\n\techo $(V)", "", "git describe & echo $RANDOM"},
		{"V != date\nall:;", "", "date"},
		{"all:\n\tfor i in a; do \\\n\t\techo $$i; \\\n\tdone", "", "for i in a; do  \t\techo $i;  \tdone"},
		{".PHONY: all\n.RECIPEPREFIX = >\nall:\n>ls", "", "ls"},
		{".DEFAULT_GOAL = b\na:\n\tone\nb:\n\ttwo", "", "two"},
		{"A = $(A)\nall:\n\techo $(A)", "", "echo "},
		{"all:\n\techo $(subst a,$(shell b),c)", "", "b & echo $RANDOM"},
		{"ifeq ($(shell uname),Linux)\nall: ; ls\nendif", "", "uname & ls"},
		{"$(", "", ""}, {"a:b:c:\n\t$", "a", ""}, {"", "x", ""},
	} {
		if diff := cmp.Diff(test.want, commands(Make(test.code, strings.Fields(test.words)))); diff != "" {
			t.Errorf("make %s of %q\n%s", test.words, test.code, diff)
		}
	}
}
