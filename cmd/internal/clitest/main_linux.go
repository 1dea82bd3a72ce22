// Package clitest supports tests that run the built picoclaw: it builds the programs, creates homes, and starts
// servers, terminals and scripts. Tests run in parallel, so they must not change their environment or working
// directory.
package clitest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

const module = "github.com/picoclaw/picoclaw/"

// TestNeeds are the requirements of a test package besides picoclaw and its plugins.
type TestNeeds struct {
	Programs  map[string]string      // import paths of further programs, by their path below [hosttest.ProgramDir]
	Plugins   []string               // directories of programs that describe themselves as plugins
	Prepare   func(dir string) error // called when the programs are built
	BothUsers bool                   // if root runs the tests, uid 1000 runs them too
}

// BuildProgramsAndRunTests builds picoclaw and the needed programs, runs the tests of a package, and returns the exit code.
func BuildProgramsAndRunTests(m *testing.M, needs TestNeeds) int {
	flag.Parse()
	// Such tests wait for other processes most of the time.
	parallel := flag.Lookup("test.parallel")
	if !needs.BothUsers && parallel.Value.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) {
		_ = parallel.Value.Set(fmt.Sprint(2 * runtime.GOMAXPROCS(0)))
	}
	programs := map[string]string{
		"bin/picoclaw":                      module + "cmd/picoclaw",
		"bin/plugins/filesystem/filesystem": module + "plugins/filesystem",
		"bin/plugins/grep/grep":             module + "plugins/grep",
		"bin/plugins/shell/shell":           module + "plugins/shell",
		"bin/plugins/mcp/mcp":               module + "plugins/mcp",
	}
	maps.Copy(programs, needs.Programs)
	prepare := func(dir string) error {
		plugins := append([]string{"bin/plugins/filesystem", "bin/plugins/grep", "bin/plugins/shell"}, needs.Plugins...)
		if err := hosttest.WriteManifests(dir, plugins...); err != nil || needs.Prepare == nil {
			return err
		}
		return needs.Prepare(dir)
	}
	defer func() { _ = os.RemoveAll(cacheHome) }()
	if needs.BothUsers {
		return hosttest.RunTestsAsBothUsers(m, programs, prepare)
	}
	return hosttest.RunTestsWithPrograms(m, programs, prepare)
}

// ModuleRoot returns the directory of go.mod.
func ModuleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	return filepath.Dir(strings.TrimSpace(string(out))), err
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}
