package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
)

// FindProjectDir returns the project directory and the current directory in it, both without symlinks. The project is
// the directory named by the person; else the git repository around the current directory; else the current directory. An empty current
// directory is the process's.
func FindProjectDir(named, current string) (project, dir string, err error) {
	if current == "" {
		if current, err = os.Getwd(); err != nil {
			return "", "", fmt.Errorf("the current directory can't be used: %w", err)
		}
	}
	if dir, err = filepath.EvalSymlinks(current); err != nil {
		return "", "", fmt.Errorf("the current directory %s can't be used: %w", current, err)
	}
	if named == "" {
		return findRepositoryDir(dir), dir, nil
	}
	if project, err = filepath.Abs(named); err == nil {
		project, err = filepath.EvalSymlinks(project)
	}
	if err != nil {
		return "", "", fmt.Errorf("the project %s can't be used: %w; name an existing directory", named, err)
	}
	if info, err := os.Stat(project); err != nil || !info.IsDir() {
		return "", "", fmt.Errorf("the project %s is not a directory", named)
	}
	if !paths.Within(project, dir) {
		dir = project
	}
	return project, dir, nil
}

// findRepositoryDir returns the top directory of the git repository that contains dir; dir itself if there is none.
func findRepositoryDir(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, protect.GitDir)); err == nil {
			return at
		} else if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return dir
		}
	}
}

// copyGitState copies the files of a shared git directory that git commands replace: refs, reflogs, configuration and the
// work tree's own files. Undo does not cover them.
func copyGitState(d *protect.SharedGitDir, to string) error {
	for _, from := range []string{"config", "packed-refs", "shallow", "refs", "logs", "reftable", "worktrees/" + filepath.Base(d.Own)} {
		err := filepath.WalkDir(filepath.Join(d.Dir, from), func(path string, e fs.DirEntry, err error) error {
			copied := filepath.Join(to, strings.TrimPrefix(path, d.Dir))
			if err == nil && e.IsDir() {
				return os.MkdirAll(copied, 0o700)
			}
			if text, readErr := os.ReadFile(path); readErr == nil && e.Type().IsRegular() { // git may have deleted it
				err = errors.Join(os.MkdirAll(to, 0o700), os.WriteFile(copied, text, 0o600))
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// CheckProjectDir refuses directories that are more than a project: the root, the user's home, and directories that
// contain PICOCLAW_HOME or are inside it.
func CheckProjectDir(project, userHome, home string) error {
	const remedy = "change to the directory of a project, or name one with --project"
	if real, err := filepath.EvalSymlinks(userHome); err == nil {
		userHome = real
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	switch {
	case project == string(filepath.Separator):
		return fmt.Errorf("the project would be the whole file system; %s", remedy)
	case userHome != "" && paths.Within(project, userHome):
		return fmt.Errorf("the project would be %s, with your home directory in it; %s", project, remedy)
	case paths.Within(project, home) || paths.Within(home, project):
		return fmt.Errorf("the project %s and picoclaw's home %s contain one another; %s", project, home, remedy)
	}
	return nil
}
