package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxAlternatives is how many words a word with extended patterns is followed as, and maxPatterns how many of these it may have.
const (
	maxAlternatives = 32
	maxPatterns     = 8
)

// alternatives are the words that a word with extended patterns, such as @(a|b), stands for; nil if it has none. What such a
// pattern repeats is taken once and twice: +(.) may be "..". It says whether they are few enough.
func alternatives(word *syntax.Word) (out []*syntax.Word, ok bool) {
	patterns := 0
	for _, part := range word.Parts {
		if _, ok := part.(*syntax.ExtGlob); ok {
			patterns++
		}
	}
	if patterns == 0 || patterns > maxPatterns {
		return nil, patterns == 0
	}
	words := [][]syntax.WordPart{nil}
	for _, part := range word.Parts {
		glob, ok := part.(*syntax.ExtGlob)
		texts := []string{""}
		if ok {
			texts = matched(glob.Op.String()[0], glob.Pattern.Value)
		}
		var next [][]syntax.WordPart
		for _, before := range words {
			for _, text := range texts {
				if ok {
					part = &syntax.Lit{Value: text}
				}
				if next = append(next, append(before[:len(before):len(before)], part)); len(next) == maxAlternatives {
					break
				}
			}
		}
		words = next[:min(len(next), maxAlternatives)]
	}
	out = make([]*syntax.Word, len(words))
	for i, parts := range words {
		out[i] = &syntax.Word{Parts: parts}
	}
	return out, true
}

// unquoted removes the quotes from a pattern.
var unquoted = strings.NewReplacer(`'`, "", `"`, "", `\`, "")

// matched are texts, which may be patterns, that an extended pattern matches.
func matched(op byte, pattern string) []string {
	if op == '!' {
		return []string{"*"}
	}
	if strings.ContainsAny(pattern, "`$") {
		return []string{Unknown}
	}
	var once []string
	depth, start := 0, 0
	for i := 0; i <= len(pattern); i++ {
		switch {
		case i == len(pattern), pattern[i] == '|' && depth == 0:
			once = append(once, inner(pattern[start:i])...)
			start = i + 1
		case pattern[i] == '(':
			depth++
		case pattern[i] == ')':
			depth--
		}
	}
	once = once[:min(len(once), maxAlternatives)]
	switch op {
	case '?':
		return append(once, "")
	case '*', '+':
		out := slices.Clone(once)
		for _, text := range once {
			out = append(out, text+text)
		}
		return append(out, "*")
	}
	return once
}

// inner are the texts that an alternative with extended patterns in it matches.
func inner(pattern string) []string {
	open := strings.IndexByte(pattern, '(')
	if open < 1 || strings.IndexByte("?*+@!", pattern[open-1]) < 0 {
		return []string{unquoted.Replace(pattern)}
	}
	depth, end := 0, len(pattern)
	for i := open; i < len(pattern); i++ {
		if pattern[i] == '(' {
			depth++
		} else if pattern[i] == ')' {
			if depth--; depth == 0 {
				end = i
				break
			}
		}
	}
	rest := inner(pattern[min(end+1, len(pattern)):])
	var out []string
	for _, text := range matched(pattern[open-1], pattern[open+1:end]) {
		for _, after := range rest {
			if len(out) < maxAlternatives {
				out = append(out, unquoted.Replace(pattern[:open-1])+text+after)
			}
		}
	}
	return out
}
