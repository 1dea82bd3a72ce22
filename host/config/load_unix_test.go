//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWorldWritableConfigIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		file, dir os.FileMode
		want      string
	}{
		"its owner's": {0o600, 0o700, ""},
		"to read":     {0o644, 0o755, ""},
		"a group's":   {0o664, 0o775, ""},
		"everybody's": {0o666, 0o700,
			"every user can write this file (mode 0666), which decides what agents may do; `chmod go-w "},
		"everybody's place":    {0o600, 0o777, "every user can replace this file ("},
		"a shared, sticky one": {0o600, 0o777 | os.ModeSticky, ""},
	} {
		dir := filepath.Join(t.TempDir(), "home")
		file := filepath.Join(dir, "config.json")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, c.file); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, c.dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(LoadOptions{File: dir, Environ: []string{"HOME=" + dir}}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: the directory as a file: %v", name, err)
		}
		_, err := Load(LoadOptions{File: file, Environ: []string{"HOME=" + dir}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}
