package fleet

import (
	"fmt"
	"os"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

func TestMain(m *testing.M) {
	if part := os.Getenv(partVariable); part != "" {
		if err := runPart(part); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(hosttest.RunTestsWithPrograms(m, map[string]string{
		"plugins/filesystem/filesystem": "../../plugins/filesystem",
		"plugins/shell/shell":           "../../plugins/shell",
	}, func(dir string) error { return hosttest.WriteManifests(dir, "plugins/filesystem", "plugins/shell") }))
}
