package mcp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// rankDeferredTools returns the deferred tools that have words in common with a query, the best match first.
func (ts *toolset) rankDeferredTools(query string, limit int) []*offeredTool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	points := map[*offeredTool]int{}
	var all []*offeredTool
	for name, t := range ts.listed {
		if !t.tool.Deferred {
			continue
		}
		if points[t] = scoreTool(t, name, query); points[t] > 0 {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *offeredTool) int {
		return cmp.Or(points[b]-points[a], strings.Compare(a.tool.Name, b.tool.Name))
	})
	return all[:min(limit, len(all))]
}

// scoreTool scores a tool by the words of a query that occur in its name, in the first paragraph of its description,
// and in the names of its arguments.
func scoreTool(t *offeredTool, name, query string) int {
	query = strings.TrimSpace(query)
	full := t.tool.Plugin + "." + t.tool.Spec.Name
	for _, exact := range []string{name, t.tool.Name, full} {
		if strings.EqualFold(query, exact) {
			return 1 << 20
		}
	}
	doc, _, _ := strings.Cut(t.tool.Spec.Doc, "\n\n")
	names, docs, fields := splitWords(name+" "+full), splitWords(doc), []string(nil)
	if t.tool.Spec.Input != nil {
		var input struct{ Properties map[string]json.RawMessage }
		if text, err := json.Marshal(t.tool.Spec.Input); err == nil {
			_ = json.Unmarshal(text, &input) // without properties there are no names to search
		}
		for field := range input.Properties {
			fields = append(fields, splitWords(field)...)
		}
	}
	points := 0
	for _, word := range splitWords(query) {
		if containsMatchingWord(names, word) {
			points += 4
		}
		if containsMatchingWord(docs, word) {
			points += 2
		}
		if containsMatchingWord(fields, word) {
			points++
		}
	}
	return points
}

// minStem is the minimum length of a word that matches as a part of another word.
const minStem = 3

// containsMatchingWord reports whether a word matches a word of a text: one of them equals, contains or begins the other. So
// "file" matches "files" and "filesystem", and "files" matches "file".
func containsMatchingWord(text []string, word string) bool {
	return slices.ContainsFunc(text, func(w string) bool {
		return w == word || len(word) >= minStem && strings.Contains(w, word) ||
			len(w) > minStem && strings.HasPrefix(word, w)
	})
}

func splitWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
