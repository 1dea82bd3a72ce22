package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unconfined are the files that start processes by themselves, with the reason. All others have them started by package
// isolation, be it through a session's Start or RunApart.
var unconfined = map[string]string{
	"host/session/secrets.go":           "the operator's own program that prints a secret: it asks a keyring, or a person",
	"host/session/network_from.go":      "the operator's own programs, which are asked for their settings",
	"host/mcpservers/builder.go":        "the operator's own npm and pip, which are asked for their settings",
	"host/run/home.go":                  "the person's own git, outside of any repository, which is asked for their name",
	"host/run/worktree.go":              "the person's own git, which adds a work tree",
	"host/run/supervisor/init_linux.go": "the parent of a program in its own sandbox",
	"cmd/picoclaw/internal/cmd/mcp/":    "the operator's own browser, for a login",
	"cmd/picoclaw/internal/cmd/hub/":    "the operator's own hub, in place of this process",
	"internal/measure/report/":          "benchmarks are run",
	"host/hosttest/":                    "tests are built",
	"cmd/internal/clitest/":             "tests are run",
	"sdk/sdktest/":                      "tests are built",
	"docs/internal/":                    "pages are made",
}

// isolation has what a process is started by, with a profile: these take none.
var startsItself = []string{"Start", "Run", "Output", "CombinedOutput"}

// Every process of the product is started by the isolation layer.
func TestProcessesAreStartedThroughIsolation(t *testing.T) {
	used := map[string]bool{}
	eachFile(t, func(path string, imports []string) {
		if !slices.Contains(imports, "os/exec") && !slices.Contains(imports, "syscall") && !slices.Contains(imports, "os") ||
			strings.HasPrefix(path, "isolation/") {
			return
		}
		for _, call := range startsOf(t, path, slices.Contains(imports, "os/exec")) {
			known := slices.IndexFunc(slices.Collect(maps.Keys(unconfined)), func(at string) bool {
				if strings.HasPrefix(path, at) {
					used[at] = true
					return true
				}
				return false
			})
			if known < 0 {
				t.Errorf("%s starts a process by %s: have package isolation do it", path, call)
			}
		}
	})
	for at := range unconfined {
		if !used[at] {
			t.Errorf("%s starts no process any more", at)
		}
	}
}

// startsOf returns the calls in a file that start a process without isolation: methods of exec.Cmd, which take no
// arguments where isolation's do, and the functions below them.
func startsOf(t *testing.T, path string, commands bool) (calls []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", path), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, _ := f.X.(*ast.Ident)
		switch {
		case commands && len(call.Args) == 0 && slices.Contains(startsItself, f.Sel.Name),
			of != nil && of.Name == "os" && f.Sel.Name == "StartProcess",
			of != nil && of.Name == "syscall" && slices.Contains([]string{"ForkExec", "StartProcess", "Exec"}, f.Sel.Name),
			of != nil && of.Name == "unix" && f.Sel.Name == "Exec":
			calls = append(calls, f.Sel.Name)
		}
		return true
	})
	return calls
}
