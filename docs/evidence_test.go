package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named is a test that a page names; a scenario of commands stands behind a slash.
var named = regexp.MustCompile("`(Test[A-Za-z0-9]+)(?:/([a-z_]+))?`")

// A page that says which test shows something names a test that there is.
func TestTestsThatPagesNameExist(t *testing.T) {
	exist := testNames(t)
	found := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllStringSubmatch(string(text), -1) {
			found++
			if !exist[name[1]] {
				t.Errorf("%s names %s, and there is no such test", page, name[1])
			}
			if name[2] == "" {
				continue
			}
			scripts := filepath.Join("..", "cmd", "picoclaw", "internal", "*", "*", "testdata", "script", name[2]+".txtar")
			if files, err := filepath.Glob(scripts); len(files) != 1 {
				t.Errorf("%s names the scenario %s: %q, %v", page, name[2], files, err)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d names were found", found)
	}
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(t \*testing\.T\)`)
	names := make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, found := range function.FindAllSubmatch(data, -1) {
			names[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// requirement matches a row of the tables of AISVS: number, state and reason.
var requirement = regexp.MustCompile(`(?m)^\| (\d+\.\d+\.\d+) \[[123]\] [^|]+ \| ([a-z ]+) \| .+ \|$`)

// Every requirement of both chapters is answered once.
func TestEveryRequirementIsAnswered(t *testing.T) {
	text, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	answers := make(map[string]int)
	for _, row := range requirement.FindAllStringSubmatch(string(text), -1) {
		number, state := row[1], row[2]
		answers[number]++
		switch state {
		case "met", "in part", "not met", "not ours":
		default:
			t.Errorf("%s is %q, which is none of the states", number, state)
		}
	}
	for section, count := range map[string]int{
		"9.1": 3, "9.2": 10, "9.3": 8, "9.4": 4, "9.5": 6, "9.6": 3,
		"10.1": 3, "10.2": 7, "10.3": 5, "10.4": 8,
	} {
		for i := 1; i <= count; i++ {
			number := fmt.Sprintf("%s.%d", section, i)
			if answers[number] != 1 {
				t.Errorf("%s is answered %d times", number, answers[number])
			}
			delete(answers, number)
		}
	}
	for number := range answers {
		t.Errorf("%s is no requirement", number)
	}
}
