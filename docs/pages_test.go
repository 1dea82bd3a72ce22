package docs_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/host/hosttest"
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
			target, anchor, _ := strings.Cut(found[1]+found[2], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s: %v", page, target, err)
			} else if anchor != "" && !slices.Contains(anchors(t, file), anchor) {
				t.Errorf("%s links to %s, which has no heading #%s", page, filepath.Base(file), anchor)
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

// anchors returns the anchors of a page's headings, as GitHub writes them.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	dropped := regexp.MustCompile("[^a-z0-9 _-]")
	var anchors []string
	for _, heading := range regexp.MustCompile("(?m)^#+ (.+)$").FindAllStringSubmatch(string(text), -1) {
		anchors = append(anchors, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-"))
	}
	return anchors
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

// columns is how long a line of prose may be. Tables and code can't be broken.
const columns = 120

// What people read is in lines that fit beside something else.
func TestLinesOfProseAreShort(t *testing.T) {
	for _, page := range append(pages(t), filepath.Join("..", "CONTRIBUTING.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		code := false
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			if code || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "<") {
				continue
			}
			if length := utf8.RuneCountInString(line); length > columns {
				t.Errorf("%s:%d has %d columns", page, number, length)
			}
		}
	}
}

// Code that a page shows is code that is compiled and tested: it stands, as it is, in a Go file of the SDK's.
func TestTheCodeOnThePagesIsCompiled(t *testing.T) {
	var compiled strings.Builder
	err := filepath.WalkDir("../sdk", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		data, err := os.ReadFile(path)
		compiled.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) < 5 {
		t.Fatalf("only %d blocks were found", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(compiled.String(), string(block[1])) {
			t.Errorf("this is in no Go file of the SDK's:\n%s", block[1])
		}
	}
}

// The reference pages follow from the program. One that does not say what the program does is stale.
func TestReferencePagesAreFresh(t *testing.T) {
	made := t.TempDir()
	program := filepath.Join(t.TempDir(), "reference")
	if err := hosttest.BuildProgram(program, "../cmd/picoclaw/internal/reference"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, programs, made)
	cmd.Env = []string{"HOME=" + t.TempDir()}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, page := range []string{"configuration.md", "tools.md", "cli.md"} {
		want, err := os.ReadFile(filepath.Join(made, page))
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(page)
		if err != nil {
			t.Errorf("%v: run `make docs`", err)
			continue
		}
		if diff := cmp.Diff(string(have), string(want)); diff != "" {
			t.Errorf("docs/%s is stale: run `make docs`\n%s", page, diff)
		}
	}
}
