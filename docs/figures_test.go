package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// benched is how a page names what measures a figure: a part of `make bench`, or a benchmark of a package.
var benched = regexp.MustCompile(`ONLY=([a-z]+)|go test -bench ([A-Za-z]+) (\./[a-z/]+)`)

// A command that a page says to measure something with measures something.
func TestWhatMeasuresFiguresExists(t *testing.T) {
	report, err := os.ReadFile(filepath.Join("..", "internal", "measure", "report", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, named := range benched.FindAllStringSubmatch(string(text), -1) {
			found++
			part, name, pkg := named[1], named[2], named[3]
			if part != "" && !strings.Contains(string(report), `{"`+part+`", `) {
				t.Errorf("%s: make bench has no part %s", page, part)
			}
			if name != "" && !hasBenchmark(t, filepath.Join("..", pkg), name) {
				t.Errorf("%s: package %s has no Benchmark%s", page, pkg, name)
			}
		}
	}
	if found < 8 {
		t.Errorf("only %d were found", found)
	}
}

func hasBenchmark(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func Benchmark"+name+"(") {
			return true
		}
	}
	return false
}
