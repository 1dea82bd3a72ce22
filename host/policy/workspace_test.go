package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/host/config"
)

// home builds an instance root beside a few other things, for the tests of workspaces.
type root struct{ dir, home string }

func newRoot(t *testing.T) root {
	t.Helper()
	dir := tempHome(t)
	r := root{dir, filepath.Join(dir, "home")}
	for _, path := range []string{r.home, filepath.Join(dir, "project")} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"dangling": "nowhere", "link": "project", "to-home": "home",
		"to-root": "/", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// with resolves the first agent with a workspace, and with a configuration file of that name.
func (r root) with(t *testing.T, file, workspace, more string) (*Policy, error) {
	t.Helper()
	text := fmt.Sprintf(`{"agents": {"defaults": {"workspace": %q%s}}}`, workspace, more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.LoadOptions{File: file, Environ: []string{"HOME=" + r.dir, "PICOCLAW_HOME=" + r.home}})
	if err != nil {
		t.Fatal(err)
	}
	return ResolvePolicy(cfg, "")
}

func TestRefusedWorkspaces(t *testing.T) {
	r := newRoot(t)
	file := filepath.Join(r.home, "config.json")
	for workspace, want := range map[string]string{
		r.home:                                    "is picoclaw's home",
		r.dir:                                     "contains the home " + r.home,
		filepath.Join(r.dir, "to-home"):           "is " + r.home + ", is picoclaw's home",
		"/":                                       "set agents.defaults.allow_root_workspace",
		filepath.Join(r.dir, "to-root"):           "which is /, is the whole file system",
		filepath.Join(r.dir, "file"):              "is not a directory",
		filepath.Join(r.dir, "dangling"):          "is a symlink to a missing file",
		filepath.Join(r.dir, "loop"):              "too many levels of symbolic links",
		filepath.Join(r.dir, "file", "x"):         "not a directory",
		filepath.Join(r.dir, "missing"):           "does not exist; create it (mkdir -p), or choose another",
		filepath.Join(r.home, "plugins"):          "the home's own plugins",
		filepath.Join(r.home, "run", "x"):         "the home's own run",
		filepath.Join(r.home, "logs", "x"):        "the home's own logs",
		filepath.Join(r.home, "schedule", "main"): "the home's own schedule",
		filepath.Join(r.home, "sessions"):         "the home's own sessions",
		filepath.Join(r.home, "stopped.json"):     "the home's own stopped.json",
		filepath.Join(r.home, "tokens"):           "the home's own tokens",
	} {
		_, err := r.with(t, file, workspace, "")
		if err == nil {
			t.Errorf("workspace %s is accepted", workspace)
			continue
		}
		for _, part := range []string{`agent "main": the workspace ` + workspace + " (" + file + ":1)", want} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("workspace %s: %v; want %q in it", workspace, err, part)
			}
		}
	}
}

func TestWorkspaceCreation(t *testing.T) {
	r := newRoot(t)
	file := filepath.Join(r.home, "config.json")
	for workspace, want := range map[string]string{
		filepath.Join(r.dir, "project"):                filepath.Join(r.dir, "project"),
		filepath.Join(r.dir, "link"):                   filepath.Join(r.dir, "project"),
		filepath.Join(r.dir, "project") + "/../link/.": filepath.Join(r.dir, "project"),
		filepath.Join(r.home, "deep", "er"):            filepath.Join(r.home, "deep", "er"),
	} {
		p, err := r.with(t, file, workspace, "")
		if err != nil {
			t.Errorf("workspace %s: %v", workspace, err)
			continue
		}
		if p.WorkspacePath() != want {
			t.Errorf("workspace %s is %s; want %s", workspace, p.WorkspacePath(), want)
		}
	}
	info, err := os.Stat(filepath.Join(r.home, "deep"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("what was made below the home: %v, %v", info, err)
	}
}

func TestWorkspaceWithConfigIsRefused(t *testing.T) {
	r := newRoot(t)
	project := filepath.Join(r.dir, "project")
	_, err := r.with(t, filepath.Join(project, "picoclaw.json"), project, "")
	if err == nil || !strings.Contains(err.Error(), "contains the configuration file "+project+"/picoclaw.json") {
		t.Errorf("the error is %v", err)
	}
	// Nor does a way round through a link help.
	_, err = r.with(t, filepath.Join(r.dir, "link", "picoclaw.json"), project, "")
	if err == nil || !strings.Contains(err.Error(), "contains the configuration file") {
		t.Errorf("the error is %v", err)
	}
}

func TestRootWorkspaceNeedsSetting(t *testing.T) {
	r := newRoot(t)
	p, err := r.with(t, filepath.Join(r.home, "config.json"), "/", `, "allow_root_workspace": true`)
	if err != nil {
		t.Fatal(err)
	}
	k := p.KernelPaths()
	if p.WorkspacePath() != "/" || kernelAccess(k, "/etc") != "rw" || len(k.Hidden) != 0 {
		t.Errorf("workspace %s, kernel %+v", p.WorkspacePath(), k)
	}
}

func TestPolicyNeedsHome(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, isolated := range []string{"true", "false"} {
		cfg, err := config.Load(config.LoadOptions{Environ: []string{"PICOCLAW_ISOLATION_ENABLED=" + isolated}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ResolvePolicy(cfg, ""); err == nil || !strings.Contains(err.Error(), "set PICOCLAW_HOME") {
			t.Errorf("isolation %s without a home: %v", isolated, err)
		}
		if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
			t.Errorf("the current directory has %v, %v", entries, err)
		}
	}
}

func TestUnknownAgent(t *testing.T) {
	if _, err := resolveIn(t, tempHome(t), `{"agents": {"agents": [{"id": "coder"}]}}`, "codr"); err == nil ||
		!strings.Contains(err.Error(), `there is no agent "codr"; the nearest is "coder"`) {
		t.Errorf("the error is %v", err)
	}
}

func TestConcurrentSessionsCreateWorkspace(t *testing.T) {
	r := newRoot(t)
	for n := range 300 {
		path := filepath.Join(r.home, "ws", strconv.Itoa(n))
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := ensureWorkspace(path, "the workspace", true); err != nil {
					t.Error(err)
				}
				if _, err := resolveExistingPart(path); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}
