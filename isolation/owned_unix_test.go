//go:build unix

package isolation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// What picoclaw finds in its directories it believes, so nobody else may be able to put things there.
func TestHomeDirectoriesArePrivate(t *testing.T) {
	ways := []struct {
		name, want string
		prepare    func(path string) error
	}{
		{"its own", "", func(path string) error { return os.Mkdir(path, 0o700) }},
		{"readable", "", func(path string) error { return os.Mkdir(path, 0o755) }},
		{"everybody's", "can be written by others (mode 0777): `chmod go-w ",
			func(path string) error { return makeWithMode(path, 0o777) }},
		{"its own group's", "", func(path string) error { return makeWithMode(path, 0o770) }},
		{"a link", "is not a directory: move it away", func(path string) error { return os.Symlink(t.TempDir(), path) }},
		{"a file", "is not a directory: move it away", func(path string) error { return os.WriteFile(path, nil, 0o600) }},
	}
	if os.Geteuid() == 0 { // nobody else can give a directory away
		ways = append(ways, struct {
			name, want string
			prepare    func(path string) error
		}{"another group's", "can be written by others (mode 0770): `chmod go-w ", func(path string) error {
			if err := makeWithMode(path, 0o770); err != nil {
				return err
			}
			return os.Chown(path, 0, 1000)
		}})
	}
	for _, way := range ways {
		for _, dir := range homeDirs {
			home := t.TempDir()
			if err := way.prepare(filepath.Join(home, dir)); err != nil {
				t.Fatal(err)
			}
			i, err := NewStarter(Config{Home: home}, hclog.NewNullLogger())
			switch {
			case err == nil:
				if err := i.Close(); err != nil {
					t.Error(err)
				}
				if way.want != "" {
					t.Errorf("%s is %s, and is taken", dir, way.name)
				}
			case way.want == "" || !strings.Contains(err.Error(), dir+" "+way.want):
				t.Errorf("%s is %s: %v", dir, way.name, err)
			}
		}
	}
}

// makeWithMode makes a directory with a mode that no umask changes.
func makeWithMode(path string, mode os.FileMode) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}
