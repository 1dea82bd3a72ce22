package isolation

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Landlock stands behind the mount view. A directory of the host's that gets into a sandbox by an open descriptor is a
// hole in the view, and only Landlock refuses to go through it.
func TestLandlockBacksMountView(t *testing.T) {
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
		i.starter.landlock = 0
		if r := through(); r.stdout != "canary" {
			t.Errorf("with exec %t it is refused without Landlock, too: %s", exec, r.stderr)
		}
	}
}

// A stage that can't confine starts nothing.
func TestLauncherStartsNothingUnconfined(t *testing.T) {
	if landlockLauncherCode() == nil {
		t.Skip("this architecture has no stage")
	}
	dir := realTemp(t)
	attr := newRulesetAttr(landlockABI(), true)
	for name, stage := range map[string][]byte{
		"a path is missing": buildLandlockLauncher(attr, []landlockLauncherRule{{"/", readTree}, {filepath.Join(dir, "none"), readTree}},
			child().Path),
		"wrong attributes": buildLandlockLauncher(landlockRulesetAttr{files: 1 << 63}, nil, child().Path),
		"wrong rights":     buildLandlockLauncher(attr, []landlockLauncherRule{{"/", 1 << 63}}, child().Path),
		"no program":       buildLandlockLauncher(attr, []landlockLauncherRule{{"/", runTree}}, filepath.Join(dir, "none")),
	} {
		path := filepath.Join(dir, "stage")
		if err := os.WriteFile(path, stage, 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("setpriv", "--no-new-privs", path, "env").CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 126 || !strings.Contains(string(out), "could not be confined") {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
}

// A stage passes on arguments and environment as they are, whatever they are.
func TestLauncherPassesArgumentsAndEnvironment(t *testing.T) {
	i := configured(t, Config{Enabled: true})
	for _, args := range [][]string{{"echo"}, {"echo", ""}, {"echo", "a b", "", "\n", "ä"},
		append([]string{"echo"}, make([]string, 500)...)} {
		cmd := child(args...)
		cmd.Env = []string{"A=1", "LONG=" + strings.Repeat("x", 5000), "EMPTY="}
		r := outcome(t, i, cmd, Profile{Confine: true})
		if want := strings.Join(append(args[1:], cmd.Env...), "\x00"); r.stdout != want {
			t.Errorf("%q arrived as %q: %s", want, r.stdout, r.stderr)
		}
	}
}

// Where the whole machine can be read the system's directories are what they are there: links, on most.
func TestLauncherHandlesSymlinkedSystemDirs(t *testing.T) {
	i := configured(t, Config{Enabled: true})
	work := realTemp(t)
	r := outcome(t, i, shell("echo ran; touch "+work+"/made && ! touch /etc/made"), Profile{
		Name: "all", Exec: true, Confine: true, ReadOnly: []string{"/"}, ReadWrite: []string{work},
	})
	if r.err != nil || !r.exit.Success() || r.stdout != "ran\n" {
		t.Errorf("%+v", r)
	}
}
