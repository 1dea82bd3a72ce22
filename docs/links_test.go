package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Links and pictures on the pages lead to files that there are, and the index names every page.
func TestLinksLeadSomewhere(t *testing.T) {
	code := regexp.MustCompile("`[^`\n]*`")
	link := regexp.MustCompile(`\]\(([^)]+)\)|src="([^"]+)"`)
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			target, _, _ := strings.Cut(found[1]+found[2], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), target)); err != nil {
				t.Errorf("%s links to %s: %v", page, target, err)
			}
		}
	}
	index, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("the index does not name %s", name)
		}
	}
}

// The files and directories that the architecture names are there: whoever follows it finds them.
func TestFilesThatTheArchitectureNamesExist(t *testing.T) {
	text, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`((?:cmd|docs|host|internal|isolation|plugins|sdk)/[a-z0-9_./*-]+)`")
	found := name.FindAllStringSubmatch(string(text), -1)
	if len(found) < 40 {
		t.Errorf("only %d were found", len(found))
	}
	for _, file := range found {
		if matches, err := filepath.Glob(filepath.Join("..", file[1])); err != nil || len(matches) == 0 {
			t.Errorf("the architecture names %s, which is not there", file[1])
		}
	}
}
