package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
)

// credible reports whether something of git's that a command has made is what git makes, and has git run nothing.
func (w *Workspace) credible(path string) bool {
	root, err := w.OpenRoot(filepath.Dir(path))
	if err != nil {
		return true
	}
	defer func() { _ = root.Close() }()
	name := filepath.Base(path)
	info, err := root.Lstat(name)
	if err != nil {
		return true
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return false
	case name == "hooks":
		return onlySamples(root, name)
	case !mode.IsRegular():
		return mode.IsDir()
	}
	text, err := head(root, name)
	if err != nil {
		return false
	}
	dir := filepath.Dir(path)
	switch name {
	case "config", "config.worktree":
		return protect.HarmlessGitConfig(text, func(to string) bool {
			return paths.Within(w.policy.Workspace, filepath.Join(dir, to))
		})
	case protect.GitDir:
		to, ok := strings.CutPrefix(string(text), "gitdir: ")
		to = w.within(dir, to)
		return ok && (strings.Contains(to, "/.git/worktrees/") || strings.Contains(to, "/.git/modules/"))
	case "commondir":
		return filepath.Base(w.within(dir, string(text))) == protect.GitDir
	}
	return true
}

// within is where a line of one of git's files leads; "" out of the workspace.
func (w *Workspace) within(dir, line string) string {
	to := strings.TrimRight(line, "\n")
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	if to = filepath.Clean(to); !paths.Within(w.policy.Workspace, to) {
		return ""
	}
	return filepath.ToSlash(to)
}

// onlySamples reports whether none of the hooks in a directory would run.
func onlySamples(root *os.Root, name string) bool {
	hooks, err := fs.ReadDir(root.FS(), name)
	if err != nil {
		return false
	}
	for _, hook := range hooks {
		if !strings.HasSuffix(hook.Name(), ".sample") {
			return false
		}
	}
	return true
}

// head reads a file that is short, if it is what it seems.
func head(root *os.Root, name string) ([]byte, error) {
	const most = 1 << 20
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if len(text) > most {
		return nil, errors.New("it is longer than that")
	}
	return text, err
}
