package docs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutation is an entry of testdata/mutations.md: a change that breaks what a row of security.md claims, and the test that fails then.
type mutation struct {
	row, feature string
	args         []string // of go test
	file         string
	old, new     string // whole lines
}

const mutationsFile = "testdata/mutations.md"

// entry matches an entry of testdata/mutations.md: row, feature, arguments of go test, file and changed lines.
var entry = regexp.MustCompile("(?m)^### ([0-9.]+) (.+)\n`go test (.+)`\n```diff\n--- (.+)\n((?:[-+ ].*\n|\n)+)```$")

// readMutations returns the entries of testdata/mutations.md in their order.
func readMutations() ([]mutation, error) {
	text, err := os.ReadFile(mutationsFile)
	if err != nil {
		return nil, err
	}
	var found []mutation
	for _, match := range entry.FindAllStringSubmatch(string(text), -1) {
		m := mutation{row: match[1], feature: match[2], file: match[4]}
		for _, arg := range strings.Fields(match[3]) {
			m.args = append(m.args, strings.Trim(arg, "'"))
		}
		for line := range strings.Lines(match[5]) {
			switch line[0] {
			case '-':
				m.old += line[1:]
			case '+':
				m.new += line[1:]
			default:
				line = strings.TrimPrefix(line, " ")
				m.old, m.new = m.old+line, m.new+line
			}
		}
		found = append(found, m)
	}
	if headings := strings.Count(string(text), "\n### "); headings != len(found) {
		return nil, fmt.Errorf(mutationsFile+" has %d headings and %d entries of the form of the first", headings, len(found))
	}
	return found, nil
}

// apply returns the mutated text of the file, which is below root.
func (m mutation) apply(root string) (string, error) {
	data, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	text := "\n" + string(data)
	old := "\n" + m.old
	switch count := strings.Count(text, old); {
	case m.old == m.new:
		return "", errors.New("the mutation changes nothing")
	case count != 1:
		return "", fmt.Errorf("the lines of the mutation are %d times in %s; adjust docs/testdata/mutations.md:\n%s", count, m.file, m.old)
	}
	return strings.Replace(text, old, "\n"+m.new, 1)[1:], nil
}

const evidenceIntro = `<!-- Made by "go test ./docs -run TestEvidenceIsFresh -update" from testdata/mutations.md. -->

# Evidence

Tests of the AISVS requirements that [security.md](security.md#owasp-aisvs-10) marks *met* or *in part*. For each test,
[mutations.md](testdata/mutations.md) has a code change with which the test must fail.
` + "`.ci/long evidence`" + ` checks this.

`

// The page on evidence names the test of each mutation.
func TestEvidenceIsFresh(t *testing.T) {
	mutations, err := readMutations()
	if err != nil {
		t.Fatal(err)
	}
	want := evidenceIntro
	for _, m := range mutations {
		test := strings.NewReplacer("^", "", "$", "").Replace(m.args[len(m.args)-1])
		if name, scenario, _ := strings.Cut(test, "/"); name != "TestScripts" || scenario == "" {
			test = name // only scenarios are files
		}
		want += fmt.Sprintf("- %s %s: `%s` (%s)\n", m.row, m.feature, test, m.args[0])
	}
	if *update {
		if err := os.WriteFile("evidence.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Error("docs/evidence.md is stale: go test ./docs -run TestEvidenceIsFresh -update")
	}
}

// Each row that is met or in part has a mutation, and each mutation applies and belongs to such a row.
func TestEveryClaimHasMutation(t *testing.T) {
	mutations, err := readMutations()
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t)
	name := regexp.MustCompile(`^\^?(Test[A-Za-z0-9_]+)`)
	entries := make(map[string]int)
	for _, m := range mutations {
		entries[m.row]++
		if _, err := m.apply(".."); err != nil {
			t.Errorf("%s %s: %v", m.row, m.feature, err)
		}
		if found := name.FindStringSubmatch(m.args[len(m.args)-1]); found == nil || !tests[found[1]] {
			t.Errorf("%s %s: there is no test %s", m.row, m.feature, m.args[len(m.args)-1])
		}
	}
	text, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range requirement.FindAllStringSubmatch(string(text), -1) {
		number, state := row[1], row[2]
		claims := state == "met" || state == "in part"
		if claims != (entries[number] > 0) {
			t.Errorf("%s is %s and has %d mutations", number, state, entries[number])
		}
		delete(entries, number)
	}
	for number := range entries {
		t.Errorf("testdata/mutations.md has %s, which is no row of security.md", number)
	}
}
