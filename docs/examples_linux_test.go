package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/docs/internal/console"
)

// A configuration that a page shows is one that picoclaw takes.
func TestConfigurationsOnThePagesAreValid(t *testing.T) {
	block := regexp.MustCompile("(?ms)^```jsonc?\n(.*?)^```$")
	found := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, example := range block.FindAllStringSubmatch(string(text), -1) {
			found++
			s := newShell(t)
			// The workspace that examples speak of.
			if err := os.MkdirAll(filepath.Join(s.Home, "projects", "site"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.Home, "example.json"), []byte(example[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			installModels(t, &s)
			results, err := s.RunSteps(t.Context(),
				[]console.Step{{Command: "picoclaw config check --config example.json --output json"}})
			if err != nil {
				t.Fatal(err)
			}
			var checked struct {
				Faults []struct{ Key, Problem string }
			}
			if err := json.Unmarshal([]byte(results[0].Output), &checked); err != nil {
				t.Fatalf("%v: %s", err, results[0].Output)
			}
			for _, fault := range checked.Faults {
				if !strings.HasSuffix(fault.Key, ".dev") { // the plugin that the reader is about to make
					t.Errorf("%s shows\n%s\nand that is not valid: %s: %s", page, example[1], fault.Key, fault.Problem)
				}
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d configurations were found", found)
	}
}

// installModels gives a shell what models in examples take: programs of makers, which nothing starts, and their keys.
func installModels(t *testing.T, s *console.CommandEnvironment) {
	t.Helper()
	dir := filepath.Join(s.Home, "models")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claude", "codex"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.Env = append(s.Env, "PATH="+programs+":"+dir+":/usr/local/bin:/usr/bin:/bin",
		"ANTHROPIC_API_KEY=a key of the examples", "OPENAI_API_KEY=another key of theirs", "COLLECTOR_KEY=one more")
}

// The program that checks the audit log without picoclaw does.
func TestTheChainCanBeCheckedByAnybody(t *testing.T) {
	page, err := os.ReadFile("operators.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?ms)^```python\n(.*?)^```$").FindSubmatch(page)
	if program == nil {
		t.Fatal("the page has no program")
	}
	s := newShell(t)
	if err := os.WriteFile(filepath.Join(s.Home, "check.py"), program[1], 0o600); err != nil {
		t.Fatal(err)
	}
	const log = "~/.picoclaw/logs/audit.jsonl"
	results, err := s.RunSteps(t.Context(), []console.Step{
		{Command: "picoclaw call list_dir; picoclaw call write_file path=a content=x; picoclaw call list_dir"},
		{Command: "python3 check.py " + log},
		{Command: "sed -i '2s/allow/deny/' " + log + "; python3 check.py " + log},
		{Command: "picoclaw audit verify"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if results[1].Code != 0 || results[2].Code == 0 || results[3].Code == 0 {
		t.Errorf("untouched: %+v; altered: %+v; picoclaw says %+v", results[1], results[2], results[3])
	}
}

// The recorded session is what picoclaw does today.
func TestTheRecordedSessionIsFresh(t *testing.T) {
	drawn := filepath.Join(t.TempDir(), "session.svg")
	cmd := exec.Command("go", "run", "./internal/record", "-programs", programs, "-o", drawn)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("session.svg")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), string(want)); diff != "" {
		t.Errorf("docs/session.svg is stale: run `make docs`\n%s", diff)
	}
}
