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

// made is something of git's that a command has made.
type made struct {
	credible bool        // it is what git makes, and has git run nothing
	believed bool        // it is a file that git goes by
	text     []byte      // of such a file, as far as it is credible; nil for nothing
	mode     fs.FileMode // of it
	linked   bool        // it has other names
}

// look looks at what a command has made.
func (w *Workspace) look(root *os.Root, path string) made {
	name := filepath.Base(path)
	info, err := root.Lstat(name)
	if err != nil {
		return made{credible: true}
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return made{}
	case name == "hooks":
		return made{credible: onlySamples(root, name)}
	case !mode.IsRegular():
		return made{credible: mode.IsDir()}
	}
	dir := filepath.Dir(path)
	m := made{believed: true, mode: info.Mode().Perm()}
	_, m.linked = SeveralNames(info)
	if m.text, err = head(root, name); err != nil {
		return made{}
	}
	switch name {
	case "config", "config.worktree":
		m.text, m.credible = protect.HarmlessGitConfig(m.text, func(to string) bool {
			return paths.Within(w.policy.Workspace, filepath.Join(dir, to))
		})
	case protect.GitDir:
		to, ok := strings.CutPrefix(string(m.text), "gitdir: ")
		to = w.within(dir, to)
		m.credible = ok && (strings.Contains(to, "/.git/worktrees/") || strings.Contains(to, "/.git/modules/"))
	case "commondir":
		m.credible = filepath.Base(w.within(dir, string(m.text))) == protect.GitDir
	default:
		m.credible, m.believed = true, name == "gitdir"
	}
	if !m.credible && !strings.HasPrefix(name, "config") {
		m.text = nil
	}
	return m
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
