package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

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
			s := stage(t)
			// The workspace that examples speak of.
			if err := os.MkdirAll(filepath.Join(s.Home, "projects", "site"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.Home, "example.json"), []byte(example[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			results, err := s.Play(t.Context(), []console.Step{{Command: "picoclaw config check --config example.json"}})
			if err != nil {
				t.Fatal(err)
			}
			if results[0].Code != 0 {
				t.Errorf("%s shows\n%s\nand that is not valid: %s", page, example[1], results[0].Output)
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d configurations were found", found)
	}
}
