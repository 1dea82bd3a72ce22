//go:build unix

package console

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConversationsAreFoundOnAPage(t *testing.T) {
	page := "text\n```console\n$ echo a\na\n$ cat <<E\n> b\n> E\nb\n> c\n```\n```sh\n$ not this\n```\n```console\n$ true\n```\n"
	want := []Step{
		{Command: "echo a", Want: []string{"a"}},
		{Command: "cat <<E\nb\nE", Want: []string{"b", "> c"}},
		{Command: "true"},
	}
	if diff := cmp.Diff(want, ParseTerminalSteps(page)); diff != "" {
		t.Error(diff)
	}
}

func TestCommandsArePlayedInOneShell(t *testing.T) {
	home := t.TempDir()
	steps := ParseSession("$ mkdir a; cd a; x=1\n$ pwd; echo $x $SHLVL_OF_CALLER >&2\n$ false\n")
	got, err := CommandEnvironment{Home: home, Programs: t.TempDir()}.RunSteps(t.Context(), steps)
	if err != nil {
		t.Fatal(err)
	}
	want := []StepResult{{}, {Output: "~/a\n1\n"}, {Code: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMatchesOutput(t *testing.T) {
	tests := []struct {
		name   string
		want   []string
		output string
		ok     bool
	}{
		{"the same", []string{"a", "b"}, "a\nb\n", true},
		{"less", []string{"a"}, "a\nb\n", false},
		{"more", []string{"a", "b"}, "a\n", false},
		{"columns", []string{"a  b"}, "a     b  \n", true},
		{"words run together", []string{"a b"}, "ab\n", false},
		{"left out in a line", []string{"a … c"}, "a b.b c\n", true},
		{"left out lines", []string{"a", "…", "d"}, "a\nb\nc\nd\n", true},
		{"left out none", []string{"a", "…"}, "a\n", true},
		{"left out, another end", []string{"a", "…", "d"}, "a\nb\n", false},
		{"not a pattern", []string{"a.c"}, "abc\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := MatchesOutput(tt.want, tt.output); got != tt.ok {
				t.Errorf("MatchesOutput(%q, %q) is %v", tt.want, tt.output, got)
			}
		})
	}
}
