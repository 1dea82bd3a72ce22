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
	// Approved allows changes of protected paths that need approval: a person approved the command.
	Approved bool
	// Paths, if any, limit the approval.
	Paths []string
	// Background says that the user may work in the workspace meanwhile: unnoticed changes are reported, not undone.
	Background bool
	// Next, if not nil, receives each allowed change, and those made by End.
	Next func(mutation.Mutation) error
}

// ChangeMonitor refuses a command's changes of protected paths. The caller passes each change to [ChangeMonitor.Notice]
// before it is made. It may be used concurrently.
//
// A thread that replaces a call's arguments during the check evades Notice, so [ChangeMonitor.End] rechecks the files
// git acts on.
type ChangeMonitor struct {
	files   *Workspace
	options MonitorOptions

	mu         sync.Mutex
	thread     int             // of the change being decided
	created    map[string]bool // directories the command created
	removed    map[string]bool // directories the command removed
	judged     map[string]*judgedFile
	probes     []string // symlinks that git init deletes again
	moved      []string // directories moved or completed, to be rechecked
	initialTop map[string]os.FileInfo
	result     ProtectedChanges
}

// judgedFile is a file protected by its content.
type judgedFile struct {
	hit     protect.Hit
	before  []byte // nil for no file
	risks   []string
	mode    fs.FileMode
	created bool // the command created it, so its content was unknown
	byGit   bool // git created it
}

// ProtectedChanges are a command's attempts to change protected paths, relative to the workspace.
type ProtectedChanges struct {
	Refused    []string // paths it was not allowed to change
	Reasons    []string // one sentence per refusal
	Aside      []string // new names of quarantined files
	Found      []string // protected paths changed by the command or another process
	Brought    []string // entry points in repositories the command created
	GitRefused bool     // a change by git was refused, so its operation may be incomplete
}

// maxRefused limits the listed paths.
const maxRefused = 10

// MonitorChanges returns a monitor for a command. Call its End after the command.
func (w *Workspace) MonitorChanges(o MonitorOptions) *ChangeMonitor {
	named := o.Paths
	o.Paths = nil
	for _, path := range named {
		if real, err := w.resolvedPath(path); err == nil {
			o.Paths = append(o.Paths, real)
		}
	}
	o.Approved = o.Approved && len(named) == len(o.Paths)
	c := &ChangeMonitor{files: w, options: o, created: map[string]bool{}, removed: map[string]bool{},
		judged: map[string]*judgedFile{}}
	c.initialTop = c.topEntries()
	config := filepath.Join(w.policy.Workspace, protect.GitDir, "config")
	if hit, ok := w.inside.Match(config); ok && hit.Judge != "" {
		if _, err := os.Lstat(config); err == nil {
			_, _ = c.rememberFile(hit, config, false)
		}
	}
	return c
}

// topEntries returns the entry points at the top of the workspace.
func (c *ChangeMonitor) topEntries() map[string]os.FileInfo {
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
	abs, err := w.AbsPath(path)
	if err != nil {
		return "", err
	}
	return w.resolveAs(false, abs)
}

// changeRefusal is the error of a change of a protected path.
type changeRefusal struct{ path, reason string }

func (r *changeRefusal) Error() string { return r.path + ": " + r.reason }

func newChangeRefusal(path, format string, args ...any) error {
	return &changeRefusal{path, fmt.Sprintf(format, args...)}
}

// refuseEntry returns the refusal for a protected path.
func refuseEntry(hit protect.Hit) error {
	if hit.Ask {
		return newChangeRefusal(hit.Path, "it is protected (%s); name it in protected_paths to ask a person", hit.Entry)
	}
	return newChangeRefusal(hit.Path, "it is protected (%s)", hit.Entry)
}

// Notice refuses a change of a protected path.
func (c *ChangeMonitor) Notice(m mutation.Mutation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thread = m.Thread
	if c.files.HasProtected() {
		if err := c.checkChange(m); err != nil {
			c.recordRefusal(m, err)
			return syscall.EPERM
		}
	}
	if c.options.Next != nil {
		return c.options.Next(m)
	}
	return nil
}

// recordRefusal records a refusal.
func (c *ChangeMonitor) recordRefusal(m mutation.Mutation, err error) {
	at := &changeRefusal{path: m.Path, reason: err.Error()}
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

// maxInspected is the longest path that can be checked with git's file names appended.
const maxInspected = maxPathLength - 64

func (c *ChangeMonitor) checkChange(m mutation.Mutation) error {
	for _, path := range []string{m.Path, m.To} {
		if len(path) > maxInspected && paths.Within(c.files.policy.Workspace, path) {
			return newChangeRefusal(path[:64]+"…", "the path is too long to be inspected")
		}
	}
	switch m.Kind {
	case mutation.Unseen:
		return newChangeRefusal("", "%v", m.Err)
	case mutation.Write:
		return c.decideWrite(m.Path)
	case mutation.Make:
		return c.decideCreate(m.Path, m.Dir)
	case mutation.Remove:
		return c.decideRemove(m.Path)
	case mutation.Rename:
		return c.decideRename(m.Path, m.To)
	case mutation.Exchange:
		return c.decideExchange(m.Path, m.To)
	case mutation.Link:
		return c.decideLink(m.Path, m.To)
	default:
		return c.decideAttribute(m.Path)
	}
}

// permitsHit reports whether a protected path may be changed: with approval, or in a repository the command created.
func (c *ChangeMonitor) permitsHit(hit protect.Hit, path string) bool {
	if c.options.Approved && hit.Ask && (len(c.options.Paths) == 0 || paths.WithinAny(c.options.Paths, path)) {
		return true
	}
	return !hit.Git() && hit.Top != c.files.policy.Workspace && c.isCreated(hit.Top)
}

// isCreated reports whether the command created a directory or one above it.
func (c *ChangeMonitor) isCreated(dir string) bool {
	for ; len(dir) > 1; dir = filepath.Dir(dir) {
		if c.created[dir] {
			return true
		}
	}
	return false
}

// addEntry records a new directory entry, and refuses it if it turns others into entry points.
func (c *ChangeMonitor) addEntry(path string, isDir bool) error {
	hits, completes, err := c.files.inside.Joined(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return newChangeRefusal(path, "%v", err)
	}
	for _, hit := range hits {
		if !c.permitsHit(hit, hit.Path) {
			return refuseEntry(hit)
		}
	}
	if completes && (filepath.Base(path) != protect.GitDir || !c.isCreated(filepath.Dir(path))) {
		c.moved = append(c.moved, filepath.Dir(path))
	}
	if isDir && !c.wasRemoved(path) {
		c.created[path] = true
	}
	return nil
}

// wasRemoved reports whether the command removed a path or one above it.
func (c *ChangeMonitor) wasRemoved(path string) bool {
	for ; len(path) > 1 && len(c.removed) > 0; path = filepath.Dir(path) {
		if c.removed[path] {
			return true
		}
	}
	return false
}

// removeDir records that a directory is removed.
func (c *ChangeMonitor) removeDir(path string) {
	if !c.isCreated(path) {
		c.removed[path] = true
	}
	for at := range c.created {
		if paths.Within(path, at) {
			delete(c.created, at)
		}
	}
}

// rememberFile returns a judged file as it was before the command.
func (c *ChangeMonitor) rememberFile(hit protect.Hit, path string, own bool) (*judgedFile, error) {
	if known := c.judged[path]; known != nil {
		return known, nil
	}
	text, err := readContent(path, false)
	if err != nil {
		return nil, newChangeRefusal(path, "%v", err)
	}
	mode, _ := typeOf(path)
	f := &judgedFile{hit, text, c.files.inside.Risks(hit, path, text), mode.Perm(), own, own && isGit(c.thread)}
	c.judged[path] = f
	return f, nil
}

// isHarmless reports whether git acts on the new content as before.
func (c *ChangeMonitor) isHarmless(f *judgedFile, path string, after []byte) bool {
	return f.hit.Unchanged(f.risks, c.files.inside.Risks(f.hit, path, after))
}

// readContent reads a judged file; nil if missing.
func readContent(path string, settled bool) ([]byte, error) {
	dir, err := paths.OpenRoot(filepath.Dir(path))
	if err == nil {
		defer func() { _ = dir.Close() }()
		var text []byte
		if text, err = protect.Read(dir, filepath.Base(path), settled); err == nil {
			return text, nil
		}
	}
	return nil, ignoreMissing(err)
}

// typeOf returns the type of the file at a path.
func typeOf(path string) (mode fs.FileMode, exists bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, false
	}
	return info.Mode(), true
}
