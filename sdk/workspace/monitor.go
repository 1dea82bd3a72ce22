package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
)

// MonitorOptions configure the monitor of one command.
type MonitorOptions struct {
	// Approved allows changes of protected paths that a person may approve: one has approved the command.
	Approved bool
	// Paths, if any, are the only paths that the approval covers.
	Paths []string
	// Background says that the user may work in the workspace while the command runs: a change that was not noticed when
	// it was made is then reported, and not taken back.
	Background bool
	// Next, if not nil, receives each allowed change, and those that End makes itself.
	Next func(mutation.Mutation) error
}

// ChangeMonitor refuses a command's changes of protected paths. Whoever runs the command passes each change to
// [ChangeMonitor.Notice] before it is made. It can be used concurrently.
//
// A thread that replaces the arguments of a call while they are inspected gets past Notice. [ChangeMonitor.End] looks
// at the files again that git acts on.
type ChangeMonitor struct {
	files   *Workspace
	options MonitorOptions

	mu     sync.Mutex
	thread int             // makes the change that is decided on
	fresh  map[string]bool // directories that the command made where nothing was
	gone   map[string]bool // directories that it took away
	judged map[string]*judgedFile
	probes []string // symlinks that git init deletes again
	moved  []string // directories that were moved or completed, to be searched again
	top    map[string]os.FileInfo
	result ProtectedChanges
}

// judgedFile is a file whose content decides.
type judgedFile struct {
	hit    protect.Hit
	before []byte // nil for no file
	risks  []string
	mode   fs.FileMode
	own    bool // the command made it in place, so its content was not known then
	byGit  bool // the program that made it in place was git
}

// ProtectedChanges are the attempts of a command on protected paths. Paths are relative to the workspace.
type ProtectedChanges struct {
	Refused    []string // paths that the command was not allowed to change
	Reasons    []string // a sentence for each refusal
	Aside      []string // new names of files that were moved out of the way
	Found      []string // protected paths that changed, by the command or by somebody else
	Brought    []string // entry points in repositories that the command made
	GitRefused bool     // git was refused a change, so its operation may be half done
}

// maxRefused is how many refused paths are named.
const maxRefused = 10

// Monitor returns the monitor of a command. Call its End when the command is over.
func (w *Workspace) Monitor(o MonitorOptions) *ChangeMonitor {
	named := o.Paths
	o.Paths = nil
	for _, path := range named {
		if real, err := w.resolvedPath(path); err == nil {
			o.Paths = append(o.Paths, real)
		}
	}
	o.Approved = o.Approved && len(named) == len(o.Paths)
	c := &ChangeMonitor{files: w, options: o, fresh: map[string]bool{}, gone: map[string]bool{},
		judged: map[string]*judgedFile{}}
	c.top = c.atTop()
	config := filepath.Join(w.policy.Workspace, protect.GitDir, "config")
	if hit, ok := w.inside.Match(config); ok && hit.Judge != "" {
		if _, err := os.Lstat(config); err == nil {
			_, _ = c.remember(hit, config, false)
		}
	}
	return c
}

// atTop returns the entry points at the top of the workspace.
func (c *ChangeMonitor) atTop() map[string]os.FileInfo {
	found := map[string]os.FileInfo{}
	for _, path := range c.files.inside.AtTop() {
		if info, err := os.Lstat(path); err == nil {
			found[path] = info
		}
	}
	return found
}

// resolvedPath returns a path that a caller names, absolute and with its symlinks resolved.
func (w *Workspace) resolvedPath(path string) (string, error) {
	abs, err := w.Abs(path)
	if err != nil {
		return "", err
	}
	return w.resolveAs(false, abs)
}

// refusal is the error of a change of a protected path.
type refusal struct{ path, reason string }

func (r *refusal) Error() string { return r.path + ": " + r.reason }

func refuse(path, format string, args ...any) error {
	return &refusal{path, fmt.Sprintf(format, args...)}
}

// byEntry refuses a change of a protected path.
func byEntry(hit protect.Hit) error {
	if hit.Ask {
		return refuse(hit.Path, "it is protected (%s); name it in protected_paths to ask a person", hit.Entry)
	}
	return refuse(hit.Path, "it is protected (%s)", hit.Entry)
}

// Notice refuses a change of a protected path.
func (c *ChangeMonitor) Notice(m mutation.Mutation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thread = m.Thread
	if c.files.Protects() {
		if err := c.check(m); err != nil {
			c.refuse(m, err)
			return syscall.EPERM
		}
	}
	if c.options.Next != nil {
		return c.options.Next(m)
	}
	return nil
}

// refuse writes a refusal down.
func (c *ChangeMonitor) refuse(m mutation.Mutation, err error) {
	at := &refusal{path: m.Path, reason: err.Error()}
	_ = errors.As(err, &at)
	name := at.path
	if name != "" {
		name = c.files.inside.Name(name)
	} else {
		name = "a path that cannot be inspected"
	}
	if len(c.result.Refused) < maxRefused && !slices.Contains(c.result.Refused, name) {
		c.result.Refused = append(c.result.Refused, name)
		c.result.Reasons = append(c.result.Reasons, name+": "+at.reason)
	}
	c.result.GitRefused = c.result.GitRefused || isGit(m.Thread)
}

// isGit reports whether a thread runs git.
func isGit(thread int) bool {
	comm, _ := os.ReadFile("/proc/" + strconv.Itoa(thread) + "/comm")
	return strings.HasPrefix(string(comm), "git")
}

// maxInspected is the longest path that can be inspected with the names of git's files added to it.
const maxInspected = maxPath - 64

func (c *ChangeMonitor) check(m mutation.Mutation) error {
	for _, path := range []string{m.Path, m.To} {
		if len(path) > maxInspected && paths.Within(c.files.policy.Workspace, path) {
			return refuse(path[:64]+"…", "the path is too long to be inspected")
		}
	}
	switch m.Kind {
	case mutation.Unseen:
		return refuse("", "%v", m.Err)
	case mutation.Write:
		return c.write(m.Path)
	case mutation.Make:
		return c.make(m.Path, m.Dir)
	case mutation.Remove:
		return c.remove(m.Path)
	case mutation.Rename:
		return c.rename(m.Path, m.To)
	case mutation.Exchange:
		return c.exchange(m.Path, m.To)
	case mutation.Link:
		return c.link(m.Path, m.To)
	default:
		return c.attribute(m.Path)
	}
}

// permits reports whether a protected path may be changed all the same: with approval, or in a repository that the
// command made itself.
func (c *ChangeMonitor) permits(hit protect.Hit, path string) bool {
	if c.options.Approved && hit.Ask && (len(c.options.Paths) == 0 || paths.WithinAny(c.options.Paths, path)) {
		return true
	}
	return !hit.Git() && hit.Top != c.files.policy.Workspace && c.isFresh(hit.Top)
}

// isFresh reports whether a directory, or one above it, was made by the command.
func (c *ChangeMonitor) isFresh(dir string) bool {
	for ; len(dir) > 1; dir = filepath.Dir(dir) {
		if c.fresh[dir] {
			return true
		}
	}
	return false
}

// add notes a new entry of a directory, and refuses it if it makes others there entry points.
func (c *ChangeMonitor) add(path string, isDir bool) error {
	hits, completes, err := c.files.inside.Joined(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return refuse(path, "%v", err)
	}
	for _, hit := range hits {
		if !c.permits(hit, hit.Path) {
			return byEntry(hit)
		}
	}
	if completes && (filepath.Base(path) != protect.GitDir || !c.isFresh(filepath.Dir(path))) {
		c.moved = append(c.moved, filepath.Dir(path))
	}
	if isDir && !c.wasGone(path) {
		c.fresh[path] = true
	}
	return nil
}

// wasGone reports whether the command took away what was at a path or above it.
func (c *ChangeMonitor) wasGone(path string) bool {
	for ; len(path) > 1 && len(c.gone) > 0; path = filepath.Dir(path) {
		if c.gone[path] {
			return true
		}
	}
	return false
}

// leave notes that the directory at a path is taken away.
func (c *ChangeMonitor) leave(path string) {
	if !c.isFresh(path) {
		c.gone[path] = true
	}
	for at := range c.fresh {
		if paths.Within(path, at) {
			delete(c.fresh, at)
		}
	}
}

// remember returns a judged file as it was before the command, or the error of reading it.
func (c *ChangeMonitor) remember(hit protect.Hit, path string, own bool) (*judgedFile, error) {
	if known := c.judged[path]; known != nil {
		return known, nil
	}
	text, err := content(path, false)
	if err != nil {
		return nil, refuse(path, "%v", err)
	}
	mode, _ := typeOf(path)
	f := &judgedFile{hit, text, c.files.inside.Risks(hit, path, text), mode.Perm(), own, own && isGit(c.thread)}
	c.judged[path] = f
	return f, nil
}

// keeps reports whether git acts on a file with a new content as before the command.
func (c *ChangeMonitor) keeps(f *judgedFile, path string, after []byte) bool {
	return f.hit.Unchanged(f.risks, c.files.inside.Risks(f.hit, path, after))
}

// content reads a judged file, nil for none.
func content(path string, settled bool) ([]byte, error) {
	dir, err := paths.OpenRoot(filepath.Dir(path))
	if err == nil {
		defer func() { _ = dir.Close() }()
		var text []byte
		if text, err = protect.Read(dir, filepath.Base(path), settled); err == nil {
			return text, nil
		}
	}
	return nil, gone(err)
}

// typeOf returns the type of the file at a path.
func typeOf(path string) (mode fs.FileMode, exists bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, false
	}
	return info.Mode(), true
}
