package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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
