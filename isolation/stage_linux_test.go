package isolation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Landlock stands behind the mount view. A directory of the host's that gets into a sandbox by an open descriptor is a
// hole in the view, and only Landlock refuses to go through it.
func TestLandlockStandsBehindTheMountView(t *testing.T) {
	base := realTemp(t)
	put(t, filepath.Join(base, "out", "canary"), "canary")
	work := filepath.Join(base, "work")
	put(t, filepath.Join(work, "a"), "a")
	for _, exec := range []bool{false, true} {
		i := configured(t, Config{Enabled: true})
		p := Profile{Name: "test", ReadWrite: []string{work}, Exec: exec, Confine: true}
		through := func() result {
			dir, err := os.Open(filepath.Join(base, "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			cmd := child("at", "3", "canary")
			cmd.ExtraFiles = []*os.File{dir}
			return outcome(t, i, cmd, p)
		}
		if r := through(); r.exit.Success() || !strings.Contains(r.stderr, "permission denied") {
			t.Errorf("with exec %t: %v %q %s", exec, r.exit, r.stdout, r.stderr)
		}
		if r := outcome(t, i, child("write", filepath.Join(work, "b"), "b"), p); !r.exit.Success() {
			t.Errorf("with exec %t its own files are shut: %s", exec, r.stderr)
		}
		i.platform.landlock = 0
		if r := through(); r.stdout != "canary" {
			t.Errorf("with exec %t it is refused without Landlock, too: %s", exec, r.stderr)
		}
	}
}
