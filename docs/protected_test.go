package docs_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/internal/protect"
)

// The page lists exactly the entry points that are protected, each with what happens to a change.
func TestProtectedPageListsEveryEntry(t *testing.T) {
	page, err := os.ReadFile("protected.md")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("`([^`]+)`")
	entries := protect.Defaults()
	ask := map[string]bool{}
	for i, text := range slices.Concat(entries.Deny, entries.Ask) {
		if !strings.HasPrefix(text, ".git/") && text != protect.GitDir { // the section on git directories has these
			ask[text] = i >= len(entries.Deny)
		}
	}
	for line := range strings.Lines(string(page)) {
		row := strings.Split(line, "|")
		if len(row) != 5 || strings.TrimSpace(row[1]) == "git" || !slices.Contains([]string{"denied", "asks"}, strings.TrimSpace(row[3])) {
			continue
		}
		asks := strings.TrimSpace(row[3]) == "asks"
		for _, name := range code.FindAllStringSubmatch(row[2], -1) {
			stem, family := strings.CutSuffix(name[1], "*") // such as lefthook*, with a dot or a directory in front too
			found := false
			for text, is := range ask {
				if text == name[1] || family && strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(text, ".config/"), "."), stem) {
					found = found || is == asks
					delete(ask, text)
				}
			}
			if !found {
				t.Errorf("%s is not protected that way: %s", name[1], strings.TrimSpace(line))
			}
		}
	}
	delete(ask, ".gitmodules")
	for text := range ask {
		t.Errorf("the page does not list %s", text)
	}
}
