package nesting_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// opening is a way to have a directory in a sandbox, apart from being the workspace.
type opening struct {
	setting string // read, write, ro or rw: a whitelist or a mode of expose_paths
	path    string
	pattern string // of a whitelist; that of all below path unless it is given
}

// sandboxed is an agent in a sandbox with a home of its own.
type sandboxed struct{ home, workspace string }

// configure writes the configuration.
func (s sandboxed) configure(t *testing.T, defaults map[string]any, openings ...opening) {
	t.Helper()
	patterns := map[string][]string{"read": {}, "write": {}}
	exposed := []any{}
	for _, o := range openings {
		if _, ok := patterns[o.setting]; !ok {
			exposed = append(exposed, map[string]any{"source": o.path, "target": o.path, "mode": o.setting})
			continue
		}
		if o.pattern == "" {
			o.pattern = "^" + regexp.QuoteMeta(o.path) + "/.*"
		}
		patterns[o.setting] = append(patterns[o.setting], o.pattern)
	}
	all := map[string]any{"workspace": s.workspace}
	for key, value := range defaults {
		all[key] = value
	}
	text, err := json.Marshal(map[string]any{
		"agents":    map[string]any{"defaults": all},
		"isolation": map[string]any{"enabled": true, "expose_paths": exposed},
		"tools":     map[string]any{"allow_read_paths": patterns["read"], "allow_write_paths": patterns["write"]},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.home, "config.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.SeedSandboxCache(t, s.home)
}

// rights has a script, into which no guard sees, find out what can be done in directories: "r" and "w" of each.
func (s sandboxed) rights(t *testing.T, dirs ...string) (string, error) {
	t.Helper()
	script := "exec 2>/dev/null\n"
	for _, dir := range dirs {
		script += fmt.Sprintf("cat %[1]s/seen && echo x > %[1]s/made && printf w; echo\n", dir)
	}
	if err := os.WriteFile(filepath.Join(s.workspace, "probe.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(hosttest.ProgramDir(), "bin", "picoclaw"), "call", "exec", "command=sh probe.sh")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + s.home, "PICOCLAW_HOME=" + s.home}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		out = append(out, said.String()...)
	}
	return strings.Join(strings.Fields(string(out)), " "), err
}

// seeded makes a directory with a file to be read.
func seeded(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "seen"), []byte("r"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Whatever lies in whatever, the workspace can be read and written, and each directory has the right of the innermost
// opening. Whitelists add up: to let a directory be read takes nothing from who may write what is around it.
func TestNestedSandboxes(t *testing.T) {
	t.Parallel()
	const refused = "the source lies in"
	wants := map[string]string{ // of the outer and the inner one; the right of the workspace is always rw
		"read in work": "rw rw", "write in work": "rw rw", "ro in work": refused, "rw in work": refused,
		"work in read": "r rw", "write in read": "r rw", "ro in read": "r r", "rw in read": "r rw",
		"work in write": "rw rw", "read in write": "rw rw", "ro in write": refused, "rw in write": refused,
		"work in ro": "r rw", "read in ro": "r r", "write in ro": "r rw", "rw in ro": "r rw",
		"work in rw": "rw rw", "read in rw": "rw r", "write in rw": "rw rw", "ro in rw": "rw r",
	}
	for _, place := range []string{hosttest.TempDir(t), varTemp(t)} {
		for pair, want := range wants {
			t.Run(place+"/"+pair, func(t *testing.T) {
				base, err := os.MkdirTemp(place, "nest")
				if err != nil {
					t.Fatal(err)
				}
				s := sandboxed{home: seeded(t, filepath.Join(base, "home")), workspace: filepath.Join(base, "workspace")}
				outer := seeded(t, filepath.Join(base, "outer"))
				inner := seeded(t, filepath.Join(outer, "between", "inner"))
				var openings []opening
				names := strings.Split(pair, " in ")
				for n, path := range []string{inner, outer} {
					if names[n] == "work" {
						s.workspace = path
					} else {
						openings = append(openings, opening{setting: names[n], path: path})
					}
				}
				seeded(t, s.workspace)
				s.configure(t, nil, openings...)
				got, err := s.rights(t, s.workspace, outer, inner)
				if want == refused {
					if err == nil || !strings.Contains(got, refused) || !strings.Contains(got, "isolation.expose_paths") {
						t.Errorf("%v: %s", err, got)
					}
				} else if err != nil || got != "rw "+want {
					t.Errorf("got %q (%v), want %q", got, err, "rw "+want)
				}
			})
		}
	}
}

// A sandbox with a /tmp of its own has the workspace that lies there nevertheless, and what else is named in it.
func TestWorkspaceBelowTmp(t *testing.T) {
	t.Parallel()
	place, err := os.MkdirTemp("/tmp", "nest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(place) })
	home, err := os.MkdirTemp(varTemp(t), "home")
	if err != nil {
		t.Fatal(err)
	}
	s := sandboxed{home: home, workspace: seeded(t, filepath.Join(place, "deep", "workspace"))}
	beside, named := seeded(t, filepath.Join(place, "beside")), seeded(t, filepath.Join(place, "named"))
	for name, test := range map[string]struct {
		defaults map[string]any
		openings []opening
		want     string // of what lies beside the workspace, and of what is named
	}{
		"nothing":      {},
		"a file there": {openings: []opening{{"write", "/tmp", `^/tmp/picoclaw-.*\.txt$`}}},
		"reading":      {openings: []opening{{"read", "/tmp", `^/tmp/picoclaw-.*\.txt$`}}},
		"all of it":    {openings: []opening{{"write", "/tmp", `^/tmp/.*`}}},
		"a pattern":    {openings: []opening{{"write", "/", `picoclaw-.*\.txt$`}}},
		"read there":   {openings: []opening{{"write", "/tmp", `^/tmp/picoclaw-.*`}, {"read", named, ""}}, want: " r"},
		"write there":  {openings: []opening{{"read", "/tmp", `^/tmp/picoclaw-.*`}, {"write", named, ""}}, want: " rw"},
		"unrestricted": {defaults: map[string]any{"restrict_to_workspace": false}},
		"read outside": {defaults: map[string]any{"allow_read_outside_workspace": true}},
		"exposed ro":   {openings: []opening{{"ro", "/tmp", ""}}, want: " r r"},
		"exposed rw":   {openings: []opening{{"rw", "/tmp", ""}}, want: " rw rw"},
		"exposed, and written": {openings: []opening{{"ro", "/tmp", ""}, {"write", "/tmp", `^/tmp/picoclaw-.*`},
			{"write", named, ""}},
			want: " r rw"},
	} {
		t.Run(name, func(t *testing.T) {
			s.configure(t, test.defaults, test.openings...)
			if got, err := s.rights(t, s.workspace, beside, named); err != nil || got != "rw"+test.want {
				t.Errorf("got %q (%v), want %q", got, err, "rw"+test.want)
			}
		})
	}
	t.Run("tmp itself", func(t *testing.T) {
		s := sandboxed{home: home, workspace: "/tmp"}
		s.configure(t, nil)
		cmd := exec.Command(filepath.Join(hosttest.ProgramDir(), "bin", "picoclaw"), "call", "exec", "command=cat "+beside+"/seen")
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "PICOCLAW_HOME=" + home}
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "r" {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// varTemp returns a temporary directory outside of /tmp.
func varTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "nest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
