package mcp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// ranked returns the deferred tools that share words with the query, the best first.
func (ts *toolset) ranked(query string, limit int) []*listedTool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	points := map[*listedTool]int{}
	var all []*listedTool
	for name, t := range ts.listed {
		if !t.tool.Deferred {
			continue
		}
		if points[t] = score(t, name, query); points[t] > 0 {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *listedTool) int {
		return cmp.Or(points[b]-points[a], strings.Compare(a.tool.Name, b.tool.Name))
	})
	return all[:min(limit, len(all))]
}

// score counts the query's words in a tool's name, the first paragraph of its doc, and its arguments' names.
func score(t *listedTool, name, query string) int {
	query = strings.TrimSpace(query)
	full := t.tool.Plugin + "." + t.tool.Spec.Name
	for _, is := range []string{name, t.tool.Name, full} {
		if strings.EqualFold(query, is) {
			return 1 << 20
		}
	}
	doc, _, _ := strings.Cut(t.tool.Spec.Doc, "\n\n")
	names, docs, fields := words(name+" "+full), words(doc), []string(nil)
	if t.tool.Spec.Input != nil {
		var input struct{ Properties map[string]json.RawMessage }
		if text, err := json.Marshal(t.tool.Spec.Input); err == nil {
			_ = json.Unmarshal(text, &input) // without properties there are no names to search
		}
		for field := range input.Properties {
			fields = append(fields, words(field)...)
		}
	}
	points := 0
	for _, word := range words(query) {
		if among(names, word) {
			points += 4
		}
		if among(docs, word) {
			points += 2
		}
		if among(fields, word) {
			points++
		}
	}
	return points
}

// stem is how long a word has to be to be found as a part of another one: "a" is a part of nearly all.
const stem = 3

// among reports whether a word is one of a text's, part of one, or begins with one: "file" finds "files" and
// "filesystem", and "files" finds "file".
func among(text []string, word string) bool {
	return slices.ContainsFunc(text, func(w string) bool {
		return w == word || len(word) >= stem && strings.Contains(w, word) ||
			len(w) > stem && strings.HasPrefix(word, w)
	})
}

// words are the words of a text, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
