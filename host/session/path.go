package session

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// LayerAccess is the access that one layer allows to a path.
type LayerAccess struct {
	Layer string `json:"wall"`
	Read  bool   `json:"read"`
	Write bool   `json:"write"`
	Why   string `json:"why"`
}

// ExplainPath returns the access to a path that each layer allows by itself: the guard, the workspace, and the kernel
// for each plugin. The file need not exist.
func (s *Session) ExplainPath(path string) ([]LayerAccess, error) {
	layers := []LayerAccess{s.guardAccess(path)}
	inWorkspace, real, err := s.workspaceAccess(path)
	if err != nil {
		return nil, err
	}
	layers = append(layers, inWorkspace)
	kernel, err := s.kernelAccess(real)
	return append(layers, kernel...), err
}

// CheckSandboxes returns an error if a plugin's sandbox can't be built as configured. It starts and creates nothing.
func (s *Session) CheckSandboxes() error {
	_, err := s.kernelAccess(s.policy.WorkspacePath())
	return err
}

// kernelAccess returns the kernel's access to a path for each plugin that the session may use.
func (s *Session) kernelAccess(path string) (layers []LayerAccess, err error) {
	for _, p := range s.host.PluginCatalog().Plugins() {
		given := s.pluginPolicy(p)
		if !given.Enabled || p.Kind == catalog.BuiltinPlugin {
			continue
		}
		grants := given.Grants.Intersect(p.Manifest.Grants)
		layer, err := s.kernelAccessOfPlugin("kernel, plugin "+p.Manifest.ID, s.sandboxProfile(p, grants), path)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return layers, nil
}

func (s *Session) guardAccess(path string) LayerAccess {
	read, write := s.guard.DecidePath(guard.Read, path), s.guard.DecidePath(guard.Write, path)
	access := LayerAccess{Layer: "guard", Read: read.Verdict == guard.Allow, Write: write.Verdict == guard.Allow,
		Why: "no rule refuses it"}
	switch {
	case !access.Read:
		access.Why = read.Rule + ": " + read.Reason
	case !access.Write:
		access.Why = "writing: " + write.Rule + ": " + write.Reason
	}
	return access
}

// workspaceAccess opens a path as plugins do, and returns the access and the resolved path.
func (s *Session) workspaceAccess(path string) (access LayerAccess, real string, err error) {
	w, err := workspace.OpenWorkspace(s.policy.GuardPolicy(), workspace.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		abs := path
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(s.policy.WorkspacePath(), abs)
		}
		return LayerAccess{Layer: "workspace", Why: err.Error()}, filepath.Clean(abs), nil
	}
	if err != nil {
		return access, "", &HostStartError{err}
	}
	defer func() { _ = w.Close() }()
	abs, err := w.AbsPath(path)
	if err != nil {
		return access, "", err
	}
	access = LayerAccess{Layer: "workspace", Why: "it is in a directory that the policy opens"}
	if real, err = paths.Resolve(abs); err != nil {
		real = abs
	}
	_, err = w.Stat(path)
	readErr := asWorkspaceRefusal(err)
	writeErr := asWorkspaceRefusal(w.InspectTree(guard.Write, real, func(*workspace.FileTree) error { return nil }))
	access.Read, access.Write = readErr == nil, writeErr == nil
	switch {
	case readErr != nil:
		access.Why = readErr.Error()
	case writeErr != nil:
		access.Why = "writing: " + writeErr.Error()
	}
	return access, real, nil
}

// asWorkspaceRefusal returns err if the workspace layer refused the path; nil for other errors, such as a missing file.
func asWorkspaceRefusal(err error) error {
	if refused := workspace.FindRefusal(err); refused != nil {
		return refused
	}
	return nil
}

func (s *Session) kernelAccessOfPlugin(name string, profile isolation.Profile, path string) (LayerAccess, error) {
	in := s.policy.IsolationOptions()
	reach, err := isolation.AccessOf(isolation.Config{
		Enabled: in.Enabled, Home: s.policy.HomePath(), ExposePaths: in.ExposePaths,
	}, profile, path)
	if err != nil {
		return LayerAccess{}, fmt.Errorf("%s: %w", name, err)
	}
	return LayerAccess{Layer: name, Read: reach.Read, Write: reach.Write, Why: reach.Why}, nil
}
