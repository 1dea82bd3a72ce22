package docs_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const programsIntro = `<!-- Made by "go test ./docs -run TestProgramsPage -update" from programs.json, the result of ".ci/long programs". -->

# Programs

` + "`.ci/long programs`" + ` runs these everyday programs as an ordinary user and as root: as commands of ` + "`exec`" + `, with
` + "`isolation.enabled`" + ` (sandbox) and without, and inside [` + "`picoclaw run`" + `](run.md). ● means that a program works;
otherwise the cell shows the program's message. [isolation.md](isolation.md) explains the reasons.

| program | tried | sandbox | no sandbox | run |
|---|---|---|---|---|
`

// triedProgram is a program with its results by mode.
type triedProgram struct {
	Program, What string
	Results       map[string]string
}

// programModes are the columns of the page: the modes of an ordinary user, each with root's.
var programModes = [][2]string{{"sandbox", "sandbox, root"}, {"no sandbox", "no sandbox, root"}, {"run", "run, root"}}

func programCell(result string) string {
	if result == "works" {
		return "●"
	}
	return strings.ReplaceAll(cmp.Or(result, "not tried"), "|", `\|`)
}

// The page about programs shows the last result, which has each program of the test.
func TestProgramsPage(t *testing.T) {
	var results, rows []triedProgram
	for file, into := range map[string]any{"programs.json": &results,
		"../cmd/picoclaw/internal/systemtest/programs/testdata/programs.json": &rows} {
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	page := strings.Builder{}
	page.WriteString(programsIntro)
	for _, r := range results {
		fmt.Fprintf(&page, "| %s | %s |", r.Program, r.What)
		for _, mode := range programModes {
			own, root := programCell(r.Results[mode[0]]), programCell(r.Results[mode[1]])
			if own != root {
				own += "; root: " + root
			}
			page.WriteString(own + "|")
		}
		page.WriteByte('\n')
	}
	for _, r := range rows {
		if !slices.ContainsFunc(results, func(tried triedProgram) bool { return tried.Program == r.Program && tried.What == r.What }) {
			t.Errorf("programs.json has no result of %s: run .ci/long programs", r.Program)
		}
	}
	if *update {
		if err := os.WriteFile("programs.md", []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile("programs.md"); err != nil || string(text) != page.String() {
		t.Errorf("programs.md is not the result in programs.json: run go test ./docs -run TestProgramsPage -update (%v)", err)
	}
}
