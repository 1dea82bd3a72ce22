package plugin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestMain(m *testing.M) {
	os.Exit(clitest.BuildProgramsAndRunTests(m, clitest.TestNeeds{
		Programs: map[string]string{"hostile/hostile": "./testdata/hostile"},
		Plugins:  []string{"hostile"},
		Prepare:  author,
	}))
}

// Scripts build plugins with this repository's sources ($SDK) and with Go's caches.
func TestScripts(t *testing.T) {
	root, err := clitest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "env", "GOROOT", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	where := strings.Split(string(out), "\n")
	clitest.RunScripts(t, func(env *testscript.Env) {
		env.Setenv("SDK", root)
		env.Setenv("PATH", env.Getenv("PATH")+":"+filepath.Join(where[0], "bin"))
		env.Setenv("GOCACHE", where[1])
		env.Setenv("GOMODCACHE", where[2])
		env.Setenv("GOPROXY", "off")
	})
}
