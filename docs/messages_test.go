package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each message that the page on troubleshooting begins a section with, or lists as a cause, is one of picoclaw's.
func TestMessagesOnTroubleshootingExist(t *testing.T) {
	page, err := os.ReadFile("troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("(?m)^(?:###|\\|) `([^`]+)`").FindAllStringSubmatch(string(page), -1)
	if len(quoted) < 20 {
		t.Fatalf("only %d messages were found", len(quoted))
	}
	texts := texts(t)
	for _, found := range quoted {
		message := found[1]
		if message == "No such file or directory" { // the system's
			continue
		}
		if !saidBy(texts, strings.Split(message, "…")) {
			t.Errorf("picoclaw does not say %q", message)
		}
	}
}

// saidBy reports whether one of the texts has all parts, in their order.
func saidBy(texts, parts []string) bool {
	for _, text := range texts {
		found := true
		for _, part := range parts {
			var before bool
			_, text, before = strings.Cut(text, strings.TrimSpace(part))
			found = found && before
		}
		if found {
			return true
		}
	}
	return false
}

// texts returns every string that the sources of the program have, those that are put together of several as one.
func texts(t *testing.T) []string {
	t.Helper()
	var texts []string
	for _, room := range []string{"cmd", "host", "isolation", "plugins", "sdk"} {
		err := filepath.WalkDir(filepath.Join("..", room), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if e, ok := n.(ast.Expr); ok {
					if text, ok := literal(e); ok {
						texts = append(texts, text)
						return false
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

// literal returns the text of a string, or of several that are put together; what is computed in between is left out.
func literal(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, isLeft := literal(e.X)
		right, isRight := literal(e.Y)
		return left + right, e.Op == token.ADD && (isLeft || isRight)
	}
	return "", false
}
