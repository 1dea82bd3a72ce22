// Package reference writes the parts of the documentation that follow from the program itself: the keys of the
// configuration, the tools, the commands.
//
// It must not say anything that the program does not know.
package reference

import (
	"strings"
	"unicode/utf8"
)

// notice begins a page that is made.
const notice = "<!-- Made by `make docs` from the program. Changes belong there. -->\n\n"

// columns is how long a line of a page may be.
const columns = 120

// wrapped returns text in lines of at most [columns], all but the first behind indent. Code is not broken.
func wrapped(text, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range words(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+length > columns:
			b.WriteString("\n" + indent)
			column = utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	return b.String()
}

// words are the words of a text, of which code between backquotes is one. A dash stays behind the word before it, since
// it would make a list at the beginning of a line.
func words(text string) []string {
	var words []string
	open := false
	for _, field := range strings.Fields(text) {
		if last := len(words) - 1; open || field == "-" && last >= 0 {
			words[last] += " " + field
		} else {
			words = append(words, field)
		}
		open = open != (strings.Count(field, "`")%2 == 1)
	}
	return words
}

// paragraphs returns a text with each paragraph in lines of at most [columns].
func paragraphs(text string) string {
	all := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, one := range all {
		all[i] = wrapped(one, "")
	}
	return strings.Join(all, "\n\n")
}

// entry is a line of a list: a name, facts about it, and a sentence.
func entry(name, facts, doc string) string {
	if facts != "" {
		name += " (" + facts + ")"
	}
	return wrapped("- "+name+": "+prose(doc), "  ") + "\n"
}

func code(text string) string { return "`" + text + "`" }

// prose is text that holds no HTML.
func prose(text string) string { return strings.ReplaceAll(text, "<", `\<`) }
