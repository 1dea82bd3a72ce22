package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// instanceNames are what the instance root holds besides workspaces. None of them may be a workspace or hold one.
var instanceNames = []string{
	"config.json", "config.yaml", "config.yml", "picoclaw.lock",
	"plugins", "audit", "skills", "logs", "cache", "state", "run", userEnv,
	"schedule", "sessions", "stopped.json", "stopped.reserve", "tokens", "picoclaw.pid", "gateway.sock", "gateway.key",
	"fleet", "hub",
}

// userEnv is the directory of the instance root that commands have for their home. It binds nobody.
const userEnv = "runtime-user-env"

// provider makes sure of a workspace's directory. The error calls it what named says.
type provider func(path, named string, mayCreate bool) error

// settleWorkspace finds the directory that the agent works in: it exists afterwards, its symbolic links are
// resolved once and for all, and working in it gives no access to the instance root. p gets the root as well.
func (p *Policy) settleWorkspace(cfg *config.Config, agent *config.AgentConfig, provide provider) (string, error) {
	home, err := filepath.Abs(cfg.Home().Path)
	if err == nil {
		p.home, err = resolveExisting(home)
	}
	if err == nil && cfg.File() != "" {
		p.file, err = resolveExisting(cfg.File())
	}
	if err != nil {
		return "", fmt.Errorf("the instance root %s can't be used: %w", cfg.Home().Path, err)
	}
	path := agent.Workspace
	named := fmt.Sprintf("the workspace %s (%s)", path, p.origins["workspace"])
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s is not an absolute path; give it in full", named)
	}
	if err := provide(path, named, !agent.CustomWorkspace || paths.Within(home, path)); err != nil {
		return "", err
	}
	resolved, err := resolveExisting(path)
	if err != nil {
		return "", fmt.Errorf("%s can't be resolved: %w", named, err)
	}
	if resolved != filepath.Clean(path) {
		named += ", which is " + resolved + ","
	}
	if err := p.checkWorkspace(resolved, named); err != nil {
		return "", err
	}
	return resolved, nil
}

// makeWorkspace makes sure that path is a directory, and creates it when mayCreate.
func makeWorkspace(path, named string, mayCreate bool) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is not a directory; choose a directory", named)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s can't be used: %w", named, err)
	}
	if dangling(path) {
		return fmt.Errorf("%s is a symbolic link to nothing; create what it points to, or choose another", named)
	}
	if !mayCreate {
		return fmt.Errorf("%s does not exist; create it (mkdir -p), or choose another", named)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("%s can't be created: %w", named, err)
	}
	return nil
}

// dangling reports whether a path that was not there is a symbolic link; another session may have made it a directory
// meanwhile.
func dangling(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// checkWorkspace refuses a resolved workspace from which the agent could rewrite what binds it.
func (p *Policy) checkWorkspace(resolved, named string) error {
	if filepath.Dir(resolved) == resolved {
		if !p.rootOK {
			return fmt.Errorf("%s is the whole file system; choose a directory, or set agents.defaults.allow_root_workspace "+
				"if the agent may change everything, its own configuration included", named)
		}
		return nil
	}
	const cure = "an agent could rewrite its own policy; choose another workspace, or put the instance root elsewhere with PICOCLAW_HOME"
	if paths.Within(resolved, p.home) {
		if p.home == resolved {
			return fmt.Errorf("%s is the instance root: %s", named, cure)
		}
		return fmt.Errorf("%s contains the instance root %s: %s", named, p.home, cure)
	}
	if p.file != "" && paths.Within(resolved, p.file) {
		return fmt.Errorf("%s contains the configuration file %s: an agent could rewrite its own policy; "+
			"choose another workspace, or move the file", named, p.file)
	}
	if inside, ok := paths.Below(p.home, resolved); ok {
		first, _, _ := strings.Cut(inside, string(filepath.Separator))
		if slices.Contains(instanceNames, first) {
			return fmt.Errorf("%s is in the instance root's own %s; choose another directory, such as %s", named, first,
				filepath.Join(p.home, "workspace"))
		}
	}
	return nil
}

// resolveExisting resolves the symbolic links in path as far as it exists, and keeps the rest as it is. What an
// operator names is not to be a link to nothing.
func resolveExisting(path string) (string, error) {
	path = filepath.Clean(path)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if dangling(path) {
			return "", fmt.Errorf("%s is a symbolic link to nothing", path)
		}
	}
	return paths.Resolve(path)
}
