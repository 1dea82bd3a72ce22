package fleet

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

func TestMain(m *testing.M) {
	os.Exit(hosttest.Main(m, map[string]string{
		"plugins/filesystem/filesystem": "../../plugins/filesystem",
		"plugins/shell/shell":           "../../plugins/shell",
	}, func(dir string) error {
		for _, id := range []string{"filesystem", "shell"} {
			out, err := exec.Command(filepath.Join(dir, "plugins", id, id), "describe").Output()
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, "plugins", id, "plugin.json"), out, 0o644); err != nil {
				return err
			}
		}
		return nil
	}))
}
