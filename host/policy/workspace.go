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

// reservedNames are the names in the home that are not workspaces. A workspace may not be or contain one of them.
var reservedNames = []string{
	"config.json", "config.yaml", "config.yml", "picoclaw.lock",
	"plugins", "audit", "skills", "logs", "cache", "state", "run", "runs", userEnvDir,
	"schedule", "sessions", "stopped.json", "stopped.reserve", "trusted.json", "tokens", "picoclaw.pid", "gateway.sock", "gateway.key",
	"fleet", "hub",
}

// userEnvDir is the directory of the home with the HOME directories of commands, which can write there.
const userEnvDir = "runtime-user-env"

// workspacePreparer is a function that checks a workspace, and may create it. named describes the workspace in errors.
type workspacePreparer func(path, named string, mayCreate bool) error

// prepareWorkspace resolves the agent's workspace, creates it if needed, and checks that it does not expose the home.
// It sets p.home.
func (p *Policy) prepareWorkspace(cfg *config.Config, agent *config.AgentConfig, provide workspacePreparer) (string, error) {
	home, err := filepath.Abs(cfg.Home().Path)
	if err == nil {
		p.home, err = resolveExistingPart(home)
	}
	if err == nil && cfg.FilePath() != "" {
		p.file, err = resolveExistingPart(cfg.FilePath())
	}
	if err != nil {
		return "", fmt.Errorf("the home %s can't be used: %w", cfg.Home().Path, err)
	}
	path := agent.Workspace
	named := fmt.Sprintf("the workspace %s (%s)", path, p.origins["workspace"])
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s is not an absolute path; give it in full", named)
	}
	if err = provide(path, named, !agent.CustomWorkspace || paths.Within(home, path)); err != nil {
		return "", err
	}
	resolved, err := resolveExistingPart(path)
	if err != nil {
		return "", fmt.Errorf("%s can't be resolved: %w", named, err)
	}
	if resolved != filepath.Clean(path) {
		named += ", which is " + resolved + ","
	}
	if err := p.checkWorkspaceLocation(resolved, named); err != nil {
		return "", err
	}
	return resolved, nil
}

// ensureWorkspace checks that path is a directory, and creates it if mayCreate is set.
func ensureWorkspace(path, named string, mayCreate bool) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is not a directory; choose a directory", named)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s can't be used: %w", named, err)
	}
	if isDanglingLink(path) {
		return fmt.Errorf("%s is a symlink to a missing file; create its target, or choose another", named)
	}
	if !mayCreate {
		return fmt.Errorf("%s does not exist; create it (mkdir -p), or choose another", named)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("%s can't be created: %w", named, err)
	}
	return nil
}

// isDanglingLink reports whether a missing path is a symlink. Another session may have created the directory meanwhile.
func isDanglingLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// checkWorkspaceLocation refuses a resolved workspace in which the agent could change its own restrictions.
func (p *Policy) checkWorkspaceLocation(resolved, named string) error {
	if filepath.Dir(resolved) == resolved {
		if !p.rootOK {
			return fmt.Errorf("%s is the whole file system; choose a directory, or set agents.defaults.allow_root_workspace "+
				"if the agent may change everything, its own configuration included", named)
		}
		return nil
	}
	const cure = "an agent could rewrite its own policy; choose another workspace, or move the home with PICOCLAW_HOME"
	if paths.Within(resolved, p.home) {
		if p.home == resolved {
			return fmt.Errorf("%s is picoclaw's home: %s", named, cure)
		}
		return fmt.Errorf("%s contains the home %s: %s", named, p.home, cure)
	}
	if p.file != "" && paths.Within(resolved, p.file) {
		return fmt.Errorf("%s contains the configuration file %s: an agent could rewrite its own policy; "+
			"choose another workspace, or move the file", named, p.file)
	}
	if inside, ok := paths.RelativeWithin(p.home, resolved); ok {
		first, _, _ := strings.Cut(inside, string(filepath.Separator))
		if slices.Contains(reservedNames, first) {
			return fmt.Errorf("%s is in the home's own %s; choose another directory, such as %s", named, first,
				filepath.Join(p.home, "workspace"))
		}
	}
	return nil
}

// resolveExistingPart resolves the symlinks in the existing part of a path. A dangling symlink is an error.
func resolveExistingPart(path string) (string, error) {
	path = filepath.Clean(path)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if isDanglingLink(path) {
			return "", fmt.Errorf("%s is a symbolic link to nothing", path)
		}
	}
	return paths.Resolve(path)
}
