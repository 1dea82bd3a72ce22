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

// PathWall is whether one wall would let a path through.
type PathWall struct {
	Wall  string `json:"wall"`
	Read  bool   `json:"read"`
	Write bool   `json:"write"`
	Why   string `json:"why"`
}

// ExplainPath says of each wall by itself whether it would let the session's agent read and write at a path: the guard,
// the workspace, and the kernel for each plugin and for commands. The file need not exist.
func (s *Session) ExplainPath(path string) ([]PathWall, error) {
	walls := []PathWall{s.guardWall(path)}
	inWorkspace, real, err := s.workspaceWall(path)
	if err != nil {
		return nil, err
	}
	walls = append(walls, inWorkspace)
	kernel, err := s.kernelWalls(real)
	return append(walls, kernel...), err
}

// CheckSandboxes says why the sandboxes of this session's plugins can't be built as the configuration has them. It
// starts nothing and makes nothing.
func (s *Session) CheckSandboxes() error {
	_, err := s.kernelWalls(s.policy.Workspace())
	return err
}

// kernelWalls are those of the plugins that the session may use.
func (s *Session) kernelWalls(path string) (walls []PathWall, err error) {
	for _, p := range s.host.plugins().Plugins() {
		given := s.given(p)
		if !given.Enabled || p.Kind == catalog.Builtin {
			continue
		}
		grants := given.Grants.Intersect(p.Manifest.Grants)
		wall, err := s.kernelWall("kernel, plugin "+p.Manifest.ID, s.profile(p, grants), path)
		if err != nil {
			return nil, err
		}
		walls = append(walls, wall)
	}
	return walls, nil
}

// guardWall asks the guard, as a tool does that takes a path.
func (s *Session) guardWall(path string) PathWall {
	read, write := s.guard.Path(guard.Read, path), s.guard.Path(guard.Write, path)
	wall := PathWall{Wall: "guard", Read: read.Verdict == guard.Allow, Write: write.Verdict == guard.Allow,
		Why: "no rule refuses it"}
	switch {
	case !wall.Read:
		wall.Why = read.Rule + ": " + read.Reason
	case !wall.Write:
		wall.Why = "writing: " + write.Rule + ": " + write.Reason
	}
	return wall
}

// workspaceWall opens the path the way that plugins do, and returns where it leads.
func (s *Session) workspaceWall(path string) (wall PathWall, real string, err error) {
	w, err := workspace.Open(s.policy.Guard(), workspace.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		abs := path
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(s.policy.Workspace(), abs)
		}
		return PathWall{Wall: "workspace", Why: err.Error()}, filepath.Clean(abs), nil
	}
	if err != nil {
		return wall, "", &StartError{err}
	}
	defer func() { _ = w.Close() }()
	abs, err := w.Abs(path)
	if err != nil {
		return wall, "", err
	}
	wall = PathWall{Wall: "workspace", Why: "it is opened below a directory that the policy opens"}
	if real, err = paths.Resolve(abs); err != nil {
		real = abs
	}
	_, err = w.Stat(path)
	readErr := refusedBy(err)
	writeErr := refusedBy(w.Look(guard.Write, real, func(*workspace.Tree) error { return nil }))
	wall.Read, wall.Write = readErr == nil, writeErr == nil
	switch {
	case readErr != nil:
		wall.Why = readErr.Error()
	case writeErr != nil:
		wall.Why = "writing: " + writeErr.Error()
	}
	return wall, real, nil
}

// refusedBy is err if the workspace refuses. That there is nothing, or nothing that this user may see, is no refusal.
func refusedBy(err error) error {
	if refused := workspace.Refusal(err); refused != nil {
		return refused
	}
	return nil
}

func (s *Session) kernelWall(name string, profile isolation.Profile, path string) (PathWall, error) {
	in := s.policy.Isolation()
	reach, err := isolation.ReachOf(isolation.Config{
		Enabled: in.Enabled, Home: s.policy.Home(), ExposePaths: in.ExposePaths,
	}, profile, path)
	if err != nil {
		return PathWall{}, fmt.Errorf("%s: %w", name, err)
	}
	return PathWall{Wall: name, Read: reach.Read, Write: reach.Write, Why: reach.Why}, nil
}
