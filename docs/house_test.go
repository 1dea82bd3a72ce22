package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/picoclaw/picoclaw/"

// mayImport says which floors each floor stands on: every arrow points down, and host and plugins meet only on the
// wire. docs/architecture.md draws it.
var mayImport = map[string][]string{
	"cmd":     {"cmd", "host", "isolation", "sdk", "internal"},
	"host":    {"host", "isolation", "sdk", "internal"},
	"plugins": {"plugins", "isolation", "sdk", "internal"}, // internal has helpers, and no privileges
	"isolation": {"isolation", "internal/limits", "internal/mutation", "internal/paths",
		"internal/proctable", "internal/filelock", "internal/atomicfile"}, // its caches and groups are shared by processes
	"sdk":      {"sdk", "internal"},
	"internal": {"internal"},
	"docs":     {"docs"}, // what pages are made and tested with
}

func TestEveryArrowPointsDown(t *testing.T) {
	eachFile(t, func(path string, imports []string) {
		room, _, _ := strings.Cut(path, "/")
		allowed, known := mayImport[room]
		if !known {
			t.Errorf("%s is in a room that the house does not have", path)
		}
		for _, imported := range imports {
			inside, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			floor, _, _ := strings.Cut(inside, "/")
			if !slices.Contains(allowed, floor) && !slices.Contains(allowed, inside) {
				t.Errorf("%s imports %s: %s stands on %v only", path, inside, room, allowed)
			}
		}
	})
}

// leaves import no package of this module: both ends of the wire, and what isolation is made of.
var leaves = []string{"sdk/pluginpb", "internal/limits", "internal/mutation", "internal/paths", "internal/proctable"}

func TestLeavesImportNothingOfThisModule(t *testing.T) {
	eachFile(t, func(path string, imports []string) {
		if !slices.Contains(leaves, filepath.ToSlash(filepath.Dir(path))) {
			return
		}
		for _, imported := range imports {
			if strings.HasPrefix(imported, module) {
				t.Errorf("%s imports %s", path, imported)
			}
		}
	})
}

// sessionUsers import host/session; every other package below host is imported by it.
var sessionUsers = []string{"host/mcp", "host/agent", "host/fleet", "host/hooks", "host/telemetry", "host/internal",
	"host/schedule/crontool", "host/inventory", "host/mcpservers", "host/run", "host/clienthook"}

func TestOnlyUsersImportSession(t *testing.T) {
	eachFile(t, func(path string, imports []string) {
		dir := filepath.ToSlash(filepath.Dir(path))
		if !strings.HasPrefix(dir, "host/") || slices.ContainsFunc(sessionUsers, func(user string) bool {
			return dir == user || strings.HasPrefix(dir, user+"/")
		}) {
			return
		}
		if slices.Contains(imports, module+"host/session") {
			t.Errorf("%s imports host/session", path)
		}
	})
}

// The assembled runtime is the top of host: programs and drivers of tests import it, no package below does.
func TestNothingBelowHostImportsIt(t *testing.T) {
	eachFile(t, func(path string, imports []string) {
		if dir := filepath.ToSlash(filepath.Dir(path)); dir != "host" && !strings.HasPrefix(dir, "cmd/") &&
			slices.Contains(imports, module+"host") {
			t.Errorf("%s imports host", path)
		}
	})
}

// A command family stands alone: what several families need is in a package of its own.
func TestCommandFamiliesDoNotImportEachOther(t *testing.T) {
	const families = "cmd/picoclaw/internal/cmd/"
	eachFile(t, func(path string, imports []string) {
		if !strings.HasPrefix(path, families) {
			return
		}
		for _, imported := range imports {
			if strings.HasPrefix(imported, module+families) {
				t.Errorf("%s imports %s", path, imported)
			}
		}
	})
}

// cmd/internal/cli is for small programs too: of host it imports the configuration alone.
func TestCLIDoesNotImportHosts(t *testing.T) {
	eachFile(t, func(path string, imports []string) {
		if !strings.HasPrefix(path, "cmd/internal/cli/") {
			return
		}
		for _, imported := range imports {
			if strings.HasPrefix(imported, module+"host") && imported != module+"host/config" {
				t.Errorf("%s imports %s", path, imported)
			}
		}
	})
}

// One plugin is no more privileged than another, and none knows a second.
func TestPluginsDoNotKnowEachOther(t *testing.T) {
	eachFile(t, func(path string, imports []string) {
		rest, isPlugin := strings.CutPrefix(path, "plugins/")
		if !isPlugin {
			return
		}
		own, _, _ := strings.Cut(rest, "/")
		for _, imported := range imports {
			other, found := strings.CutPrefix(imported, module+"plugins/")
			if name, _, _ := strings.Cut(other, "/"); found && name != own {
				t.Errorf("%s imports %s", path, imported)
			}
		}
	})
}

// eachFile gives f every Go file of the module, tests left out, with what it imports.
func eachFile(t *testing.T, f func(path string, imports []string)) {
	t.Helper()
	root := ".."
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports = append(imports, imported)
		}
		rel, err := filepath.Rel(root, path)
		seen++
		f(filepath.ToSlash(rel), imports)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Fatalf("only %d files were looked at", seen)
	}
}

// What a plugin author's module needs because of the SDK is a short list, which grows only on purpose. A new plugin's
// go.mod is made of it.
func TestTheSDKNeedsNoMoreThanItsList(t *testing.T) {
	list, err := os.ReadFile("../sdk/modules.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(list))
	var got []string
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./sdk",
			"./sdk/sdktest")
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		got = append(got, strings.Fields(string(out))...)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("sdk/modules.txt differs from what sdk and sdk/sdktest import (-listed +imported):\n%s", diff)
	}
}
