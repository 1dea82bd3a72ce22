package main

import (
	"strings"
	"unicode/utf8"
)

// generatedNotice begins each generated page.
const generatedNotice = "<!-- Made by `make docs` from the program. Changes belong there. -->\n\n"

// maxColumns is the maximum length of a line in a page.
const maxColumns = 120

// wrapText breaks text into lines of at most [maxColumns]; later lines begin with indent. Code is not broken.
func wrapText(text, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range splitWords(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+length > maxColumns:
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

// splitWords splits text into words. Code between backquotes is one word. A dash belongs to the word before it,
// because a line that begins with a dash is a list item.
func splitWords(text string) []string {
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

// wrapParagraphs wraps each paragraph of a text.
func wrapParagraphs(text string) string {
	all := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, one := range all {
		all[i] = wrapText(one, "")
	}
	return strings.Join(all, "\n\n")
}

// formatListItem returns a list item: a name, facts in parentheses, and a description.
func formatListItem(name, facts, doc string) string {
	if facts != "" {
		name += " (" + facts + ")"
	}
	return wrapText("- "+name+": "+strings.ReplaceAll(doc, "<", `\<`), "  ") + "\n"
}

func formatCode(text string) string { return "`" + text + "`" }
