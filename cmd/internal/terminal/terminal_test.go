package terminal

import (
	"bytes"
	"strings"
	"testing"
)

func TestTablesInFilesArePlain(t *testing.T) {
	table := NewTable("NAME", "N", "WHAT").AlignRight(1)
	table.AddRow("é", "7", "a\nb\x1b[31m\u202ec")
	table.StyleCell(0, Bad)
	table.AddRow("longer", "123", strings.Repeat("x", 200))
	var b bytes.Buffer
	if err := table.Write(NewWriter(&b)); err != nil {
		t.Fatal(err)
	}
	want := "NAME      N  WHAT\n" +
		"é         7  a b�[31m�c\n" +
		"longer  123  " + strings.Repeat("x", 200) + "\n"
	if b.String() != want {
		t.Errorf("the table is\n%q, want\n%q", b.String(), want)
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"éééé", 3, "éé…"}, {"abc", 0, "…"}, {"", 0, ""}} {
		if got := Shorten(c.text, c.most); got != c.want {
			t.Errorf("%q in %d is %q, not %q", c.text, c.most, got, c.want)
		}
	}
}

func TestFormatProgress(t *testing.T) {
	for _, c := range []struct {
		done, total float64
		want        string
	}{
		{0, 4, "[" + strings.Repeat("-", 24) + "]   0%  m"},
		{2, 4, "[" + strings.Repeat("#", 12) + strings.Repeat("-", 12) + "]  50%  m"},
		{9, 4, "[" + strings.Repeat("#", 24) + "] 100%  m"},
		{9, 0, "0s  m"},
	} {
		if got := formatProgress(c.done, c.total, "m", 0); got != c.want {
			t.Errorf("%v of %v is %q", c.done, c.total, got)
		}
	}
}
