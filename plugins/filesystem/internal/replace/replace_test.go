package replace

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// apply makes the replacements that Find found.
func apply(s string, f *Replacements) string {
	for _, splice := range slices.Backward(f.Splices) {
		s = s[:splice.From] + splice.New + s[splice.To:]
	}
	return s
}

func TestFind(t *testing.T) {
	for name, test := range map[string]struct {
		s, old, new string
		count       int
		want        string
		how         MatchKind
	}{
		"exact":                      {"a\nb\nc\n", "b", "B", OnlyOccurrence, "a\nB\nc\n", Exactly},
		"the first of several":       {"b b b", "b", "x", 1, "x b b", Exactly},
		"two of three":               {"b b b", "b", "x", 2, "x x b", Exactly},
		"all":                        {"b b b", "b", "xx", 0, "xx xx xx", Exactly},
		"all without overlap":        {"aaaaa", "aa", "b", 0, "bba", Exactly},
		"new lines take CRLF":        {"a\r\nb\r\n", "b", "b\nc", OnlyOccurrence, "a\r\nb\r\nc\r\n", Exactly},
		"new lines at the very end":  {"a\r\nb", "b", "b\nc", OnlyOccurrence, "a\r\nb\r\nc", Exactly},
		"those that have CR keep it": {"a\r\nb\r\n", "b", "x\ny\r\n", OnlyOccurrence, "a\r\nx\ny\r\n\r\n", Exactly},
		"LF finds CRLF":              {"a\r\nb\r\nc\r\n", "a\nb", "x\ny", OnlyOccurrence, "x\r\ny\r\nc\r\n", LineEndings},
		"CRLF finds LF":              {"a\nb\nc\n", "a\r\nb", "x\r\ny", OnlyOccurrence, "x\ny\nc\n", LineEndings},
		"LF finds mixed":             {"a\r\nb\nc\r\n", "a\nb\nc", "x", OnlyOccurrence, "x\r\n", LineEndings},
		"a newline at the beginning": {"a\r\nb\r\n", "\nb\n", "\nB\n", OnlyOccurrence, "a\r\nB\r\n", LineEndings},
		"tabs for four spaces": {"f {\n\tif x {\n\t\ty\n\t}\n}\n", "    if x {\n        y\n    }",
			"    if z {\n        y()\n    }", OnlyOccurrence, "f {\n\tif z {\n\t\ty()\n\t}\n}\n", Indentation},
		"two spaces for tabs": {"a:\n  b:\n    c\n", "\tb:\n\t\tc\n", "\tb:\n\t\td\n", OnlyOccurrence, "a:\n  b:\n    d\n",
			Indentation},
		"two spaces for four": {"a:\n  b:\n    c\n", "    b:\n        c", "    b:\n        d", OnlyOccurrence,
			"a:\n  b:\n    d\n", Indentation},
		"indentation and CRLF at one": {"f\r\n\tx\r\n\ty\r\n", "    x\n    y\n", "    z\n", OnlyOccurrence, "f\r\n\tz\r\n",
			Indentation},
		"to nothing":             {"a b", " b", "", OnlyOccurrence, "a", Exactly},
		"bytes that are no text": {"caf\xe9 \x80 old", "old", "new", OnlyOccurrence, "caf\xe9 \x80 new", Exactly},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := FindReplacements(test.s, test.old, test.new, test.count)
			if err != nil {
				t.Fatal(err)
			}
			if got := apply(test.s, f); got != test.want || f.How != test.how {
				t.Errorf("%q (%q); want %q (%q)", got, f.How, test.want, test.how)
			}
		})
	}
}

// What is looser than another unit of indentation or line ending is never taken.
func TestLooserMatchesAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ s, old string }{
		"another level":             {"\t\tx\n\t\ty\n", "\tx\n\ty\n"},
		"no indentation":            {"\tx\n", "x \n"},
		"unequal levels":            {"\tx\n\t\t\ty\n", "    x\n        y\n"},
		"half a level":              {"\tx\n", "   x\n  y\n"},
		"trailing space":            {"x\n", "x \n"},
		"another case":              {"X\n", "x\n"},
		"space inside":              {"a  b\n", "a b\n"},
		"part of a line":            {"\tx = 1\n", "    x\n"},
		"quotes":                    {"say \u201chello\u201d\n", "say \"hello\"\n"},
		"a line more":               {"\tx\n\n\ty\n", "    x\n    y\n"},
		"the last line has no end":  {"\tx", "    x\n"},
		"mixed tabs and spaces":     {"\t  x\n", "      x\n"},
		"new text between 2 levels": {"\tx\n", "    x\n"},
	} {
		new := "something"
		if name == "new text between 2 levels" {
			new = "   x"
		}
		f, err := FindReplacements(test.s, test.old, new, OnlyOccurrence)
		var miss *TextNotFoundError
		if !errors.As(err, &miss) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

func TestAmbiguousMatchesAreReported(t *testing.T) {
	for _, test := range []struct {
		s, old string
		count  int
		lines  []int
	}{
		{"b\nx\nb\n", "b", 2, []int{1, 3}},
		{"aaa\n", "aa", 2, []int{1}},
		{"x\r\ny\r\nx\r\ny\r\n", "x\ny", 2, []int{1, 3}},
		{"\tx\n--\n\tx\n", "    x", 2, []int{1, 3}},
		{strings.Repeat("x\n", 28), "x", 28, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
	} {
		_, err := FindReplacements(test.s, test.old, "new", OnlyOccurrence)
		var e *AmbiguousMatchError
		if !errors.As(err, &e) || e.Count != test.count || !slices.Equal(e.Lines, test.lines) {
			t.Errorf("%q in %.20q: %+v", test.old, test.s, err)
		}
	}
}

func TestMissReportsSimilarPlaces(t *testing.T) {
	s := "package main\n\nfunc alpha() {\n\treturn 1\n}\n\nfunc beta() {\n\treturn 2\n}\n\nvar unrelated = true\n"
	_, err := FindReplacements(s, "func alfa() {\n\treturn 1\n}", "x", OnlyOccurrence)
	var miss *TextNotFoundError
	if !errors.As(err, &miss) || len(miss.Nearest) == 0 || miss.Nearest[0].First != 3 || miss.Nearest[0].Last != 5 {
		t.Fatalf("%+v", err)
	}
	if len(miss.Nearest) > maxSimilarPlaces {
		t.Errorf("%d places", len(miss.Nearest))
	}
	if _, err := FindReplacements(s, "nothing like this anywhere at all", "x", OnlyOccurrence); !errors.As(err, &miss) ||
		len(miss.Nearest) > 0 {
		t.Errorf("%+v", err)
	}
}

// Whatever is replaced, what is around it stays, and what is reported as unique is.
func FuzzFind(f *testing.F) {
	f.Add("a\r\nb\r\n", "a\nb", "x\ny", -1)
	f.Add("\tx\n\ty\n", "    x\n    y", "    z", -1)
	f.Add("aaa", "aa", "b", 0)
	f.Add("\xff\xfe", "\xff", "", 1)
	f.Fuzz(func(t *testing.T, s, old, new string, count int) {
		found, err := FindReplacements(s, old, new, max(count, OnlyOccurrence))
		if err != nil {
			return
		}
		if len(found.Splices) == 0 {
			t.Fatal("found, and nothing to do")
		}
		at := 0
		for _, splice := range found.Splices {
			if splice.From < at || splice.To < splice.From || splice.To > len(s) {
				t.Fatalf("%+v in %d bytes", found.Splices, len(s))
			}
			at = splice.To
			if found.How == Exactly && s[splice.From:splice.To] != old {
				t.Fatalf("%q is not %q", s[splice.From:splice.To], old)
			}
			if squeezed(s[splice.From:splice.To]) != squeezed(old) {
				t.Fatalf("%q differs from %q in more than whitespace", s[splice.From:splice.To], old)
			}
		}
	})
}

func squeezed(s string) string {
	return strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "").Replace(s)
}
