package main

import (
	"strings"
	"testing"
)

func TestLinesBreakBetweenWordsAndNotInCode(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, test := range []struct{ text, want string }{
		{"one  two\nthree", "one two three"},
		{long + " " + long, long + "\n  " + long},
		{long + " `" + long + " y`, z", long + "\n  `" + long + " y`, z"},
		{long + " " + long[:49] + " - y", long + "\n  " + long[:49] + " - y"}, // no line begins with a dash
	} {
		if got := wrapText(test.text, "  "); got != test.want {
			t.Errorf("%q becomes\n%s\nand not\n%s", test.text, got, test.want)
		}
	}
}
