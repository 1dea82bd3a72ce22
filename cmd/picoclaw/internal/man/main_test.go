package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPagesOfCommands(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man")
	if err := writeManPages([]string{dir, "v1.2.3"}); err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string]string{
		"picoclaw.1": "v1.2.3", "picoclaw-call.1": "read_file path=go.mod", "picoclaw-config-show.1": "PICOCLAW",
		"picoclaw-hub-add.1": "picoclaw hub add worker build1",
	} {
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil || !strings.Contains(strings.ReplaceAll(string(text), `\-`, "-"), want) {
			t.Errorf("%s lacks %q: %v", page, want, err)
		}
	}
	if writeManPages([]string{dir}) == nil {
		t.Error("a version that is missing is no error")
	}
}
