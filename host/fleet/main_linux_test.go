package fleet

import (
	"os"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

func TestMain(m *testing.M) {
	os.Exit(hosttest.Main(m, map[string]string{
		"plugins/filesystem/filesystem": "../../plugins/filesystem",
		"plugins/shell/shell":           "../../plugins/shell",
	}, func(dir string) error { return hosttest.Describe(dir, "plugins/filesystem", "plugins/shell") }))
}
