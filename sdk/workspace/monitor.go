package workspace

import (
	"cmp"
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
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
)

// EnforcerOptions are the options of a ProtectionEnforcer for one command.
type EnforcerOptions struct {
	// Approved allows changes of protected paths that need approval: a person has approved the command.
	Approved bool
	// Paths limit the approval to these paths, if there are any.
	Paths []string
	// Background says that the user works in the workspace meanwhile. Undetected changes are then only reported.
	Background bool
	// SharedGit, if not nil, is the git directory outside the workspace that the command may change.
	SharedGit *protect.SharedGitDir
	// Ask, if not nil, receives each path whose change needs approval. ApprovePath makes later changes possible.
	Ask func(path string)
	// Remedy ends refusals of changes that a person could approve; empty for the argument protected_paths.
	Remedy string
	// TempPrefix, if not empty, begins the names of the caller's own temporary files.
	TempPrefix string
	// Next, if not nil, receives each allowed change and each change by FinishMonitor.
	Next func(mutation.FileMutation) error
}

// ProtectionEnforcer refuses changes of protected paths by a command. Pass each change to [ProtectionEnforcer.BeforeChange]
// before it happens. It is safe for concurrent use.
//
// [ProtectionEnforcer.FinishMonitor] rechecks the files that git acts on, since a command may write to files that it
// created as long as they are open.
type ProtectionEnforcer struct {
	files   *Workspace
	options EnforcerOptions

	mu         sync.Mutex
	thread     int                  // thread of the change being checked
	created    map[string]bool      // directories the command created
	removed    map[string]bool      // directories the command removed
	births     map[string]time.Time // creation times of directories and git's lock files by the command, by path
	judged     map[string]*riskCheckedFile
	probes     []string             // test symlinks of git init, which it deletes again
	moved      []string             // moved directories and new repositories, to be rechecked
	approved   map[string]time.Time // ends of approvals, by path
	permitted  map[string]bool      // protected paths that were changed with approval
	finishing  bool
	initialTop map[string]os.FileInfo
	revert     []func() // forget what was noted about the last change
	blind      bool     // the kernel reports no changes, so any change may be the command's
	result     ProtectedChanges
}

// riskCheckedFile is a protected file, such as a git configuration, that a command may change to harmless contents.
type riskCheckedFile struct {
	hit     protect.ProtectedPath
	before  []byte // former content; nil for no file
	risks   []string
	mode    fs.FileMode
	created bool // the command may write it in place, so its content is checked at the end
	byGit   bool // git created it
}

// ProtectedChanges lists a command's changes of protected paths, refused ones and others. Paths are relative to the
// workspace.
type ProtectedChanges struct {
	Refused     []string // paths whose change was refused
	Reasons     []string // one sentence per refusal
	Aside       []string // new names of quarantined files
	Found       []string // protected paths changed by the command or another process
	EntryPoints []string // protected files in repositories that the command created
	GitRefused  bool     // a change by git was refused, so its operation may be incomplete
}

// maxRefused is the maximum number of listed paths.
const maxRefused = 10

// NewChangeMonitor returns a monitor for one command. Call FinishMonitor after the command.
func (w *Workspace) NewChangeMonitor(o EnforcerOptions) *ProtectionEnforcer {
	named := o.Paths
	o.Paths = nil
	for _, path := range named {
		if real, err := w.resolveNamedPath(path); err == nil {
			o.Paths = append(o.Paths, real)
		}
	}
	o.Approved = o.Approved && len(named) == len(o.Paths)
	c := &ProtectionEnforcer{files: w, options: o, created: map[string]bool{}, removed: map[string]bool{}, births: map[string]time.Time{},
		judged: map[string]*riskCheckedFile{}, approved: map[string]time.Time{}, permitted: map[string]bool{}}
	c.initialTop = c.statTopProtectedFiles()
	config := filepath.Join(w.policy.Workspace, protect.GitDir, "config")
	if o.SharedGit != nil {
		config = filepath.Join(o.SharedGit.Dir, "config")
	}
	if hit, ok := w.inside.Match(config); ok && hit.ContentRule != "" {
		if _, err := os.Lstat(config); err == nil {
			_, _ = c.rememberOriginalContent(hit, config, false)
		}
	}
	return c
}

// statTopProtectedFiles returns the existing protected files at the top of the workspace.
func (c *ProtectionEnforcer) statTopProtectedFiles() map[string]os.FileInfo {
	found := map[string]os.FileInfo{}
	for _, path := range c.files.inside.FindProtectedAtTop() {
		if info, err := os.Lstat(path); err == nil {
			found[path] = info
		}
	}
	return found
}

// resolveNamedPath returns a caller's path, absolute and with its symlinks resolved.
func (w *Workspace) resolveNamedPath(path string) (string, error) {
	abs, err := w.AbsPath(path)
	if err != nil {
		return "", err
	}
	return w.resolveSymlinks(false, abs)
}

// changeRefusedError is the error of a refused change.
type changeRefusedError struct {
	path, reason string
	ask          bool // a person may approve the change
}

func (r *changeRefusedError) Error() string {
	text := r.path + ": " + r.reason
	if r.ask {
		text += askRemedy
	}
	return text
}

const askRemedy = "; name it in protected_paths to ask a person"

func newChangeRefusal(path, format string, args ...any) error {
	return &changeRefusedError{path, fmt.Sprintf(format, args...), false}
}

// newProtectedChangeRefusal returns the refusal of a change to a protected path.
func newProtectedChangeRefusal(hit protect.ProtectedPath) error {
	return &changeRefusedError{hit.Path, fmt.Sprintf("it is protected (%s)", hit.Entry), hit.Ask}
}

// BeforeChange returns EPERM if a change would change a protected path. It passes allowed changes to Next. Call it
// before each change.
func (c *ProtectionEnforcer) BeforeChange(m mutation.FileMutation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Kind == mutation.Failed {
		c.forgetLastChange()
		return c.passOn(m)
	}
	c.thread, c.revert, c.blind = m.Thread, nil, c.blind || m.Kind == mutation.Unseen && m.Thread == 0
	if m.Kind == mutation.Link && paths.Within(c.files.policy.Workspace, m.Path) && !paths.Within(c.files.policy.Workspace, m.To) {
		return syscall.EXDEV // changes by a name outside would not be checked; in a sandbox the kernel refuses it too
	}
	if c.files.HasProtectedFiles() {
		if err := c.checkChange(m); err != nil {
			c.recordRefusal(m, err)
			return syscall.EPERM
		}
	}
	return c.passOn(m)
}

func (c *ProtectionEnforcer) passOn(m mutation.FileMutation) error {
	if c.options.Next == nil {
		return nil
	}
	return c.options.Next(m)
}

func (c *ProtectionEnforcer) forgetLastChange() {
	for _, forget := range c.revert {
		forget()
	}
	c.revert = nil
}

func (c *ProtectionEnforcer) recordRefusal(m mutation.FileMutation, err error) {
	at := &changeRefusedError{path: m.Path, reason: err.Error()}
	_ = errors.As(err, &at)
	if at.ask && c.options.Ask != nil {
		c.options.Ask(at.path)
		at.reason += "; approve it with `picoclaw approvals`"
	} else if at.ask {
		at.reason += cmp.Or(c.options.Remedy, askRemedy)
	}
	name := at.path
	if name != "" {
		name = c.files.inside.RelativeName(name)
	} else {
		name = "a path that cannot be inspected"
	}
	if len(c.result.Refused) < maxRefused && !slices.Contains(c.result.Refused, name) {
		c.result.Refused = append(c.result.Refused, name)
		c.result.Reasons = append(c.result.Reasons, name+": "+at.reason)
	}
	c.result.GitRefused = c.result.GitRefused || isGitThread(m.Thread)
}

func isGitThread(thread int) bool {
	comm, _ := os.ReadFile("/proc/" + strconv.Itoa(thread) + "/comm")
	return strings.HasPrefix(string(comm), "git")
}

// maxInspected is the maximum length of a checked path. It leaves room for git's file names.
const maxInspected = maxPathLength - 64

func (c *ProtectionEnforcer) checkChange(m mutation.FileMutation) error {
	for _, path := range []string{m.Path, m.To} {
		if len(path) > maxInspected && paths.Within(c.files.policy.Workspace, path) {
			return newChangeRefusal(path[:64]+"…", "the path is too long to be inspected")
		}
	}
	if err := c.checkSharedGit(m); err != nil {
		return err
	}
	switch m.Kind {
	case mutation.Unseen:
		return newChangeRefusal("", "%v", m.Err)
	case mutation.Write:
		return c.checkWrite(m.Path)
	case mutation.Make:
		return c.checkCreate(m.Path, m.Dir)
	case mutation.Remove:
		return c.checkRemove(m.Path)
	case mutation.Rename:
		return c.checkRename(m.Path, m.To)
	case mutation.Exchange:
		return c.checkExchange(m.Path, m.To)
	case mutation.Link:
		return c.checkHardLink(m.Path, m.To)
	default:
		return c.checkMetadataChange(m.Path)
	}
}

// permitsChange reports whether a protected path may be changed: a person approved it, or it is in a repository that
// the command created.
func (c *ProtectionEnforcer) permitsChange(hit protect.ProtectedPath, path string) bool {
	if c.options.Approved && hit.Ask && (len(c.options.Paths) == 0 || paths.WithinAny(c.options.Paths, path)) {
		c.permitted[path] = true
		return true
	}
	if hit.Ask && c.isApproved(path) {
		delete(c.judged, path) // its new content counts from now on
		c.permitted[path] = true
		return true
	}
	return c.isInOwnRepo(hit)
}

func (c *ProtectionEnforcer) isInOwnRepo(hit protect.ProtectedPath) bool {
	return !hit.IsInGitDir() && hit.Top != c.files.policy.Workspace && c.createdRepo(hit.Top)
}

// ApprovePath allows changes of a path and of everything below it until a time, if a person may approve them.
func (c *ProtectionEnforcer) ApprovePath(path string, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.approved[path] = until
	time.AfterFunc(time.Until(until), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for changed := range c.permitted {
			if !c.finishing && paths.Within(path, changed) && !c.isApproved(changed) {
				c.detachWriters(changed)
			}
		}
	})
}

// isApproved reports whether a person's approval for a path holds. At the end of the command, all approvals hold.
func (c *ProtectionEnforcer) isApproved(path string) bool {
	for approved, until := range c.approved {
		if paths.Within(approved, path) && (c.finishing || time.Now().Before(until)) {
			return true
		}
	}
	return false
}

// createdRepo reports whether the command created a repository: its top, and its git directory if there is one.
// Somebody else may have created a repository in a directory that the command created.
func (c *ProtectionEnforcer) createdRepo(top string) bool {
	gitDir := filepath.Join(top, protect.GitDir)
	if !c.isOwnDir(top) {
		return false
	}
	if c.created[gitDir] {
		return c.isOwnDir(gitDir)
	}
	_, exists := statFileType(gitDir)
	known := c.judged[gitDir] // a file that names the git directory
	return !exists || known != nil && known.created
}

// isOwnDir reports whether the command created the directory at a path. Somebody else may have replaced it since.
func (c *ProtectionEnforcer) isOwnDir(path string) bool {
	if !c.created[path] {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && (c.files.readCreationTime(path, info).IsZero() || c.createdEntry(path))
}

// wasCreated reports whether the command created a directory or one of its parents.
func (c *ProtectionEnforcer) wasCreated(dir string) bool {
	for ; len(dir) > 1; dir = filepath.Dir(dir) {
		if c.created[dir] {
			return true
		}
	}
	return false
}

// checkAndNoteNewEntry notes a new directory entry. It refuses an entry such as .git if files that exist would thereby become
// protected.
func (c *ProtectionEnforcer) checkAndNoteNewEntry(path string, isDir bool) error {
	hits, completes, err := c.files.inside.FindProtectedByNewName(filepath.Dir(path), filepath.Base(path), c.options.TempPrefix)
	if err != nil {
		return newChangeRefusal(path, "%v", err)
	}
	for _, hit := range hits {
		if !c.permitsChange(hit, hit.Path) {
			return newProtectedChangeRefusal(hit)
		}
	}
	if completes && (filepath.Base(path) != protect.GitDir || !c.createdRepo(filepath.Dir(path))) {
		c.moved = append(c.moved, filepath.Dir(path))
	}
	if isDir && !c.wasRemoved(path) {
		c.notePath(c.created, path)
		c.births[path] = time.Now()
	}
	return nil
}

// notePath adds a path to the directories that the command created or removed, unless the change fails.
func (c *ProtectionEnforcer) notePath(noted map[string]bool, path string) {
	if !noted[path] {
		noted[path] = true
		c.revert = append(c.revert, func() { delete(noted, path) })
	}
}

// wasRemoved reports whether the command removed a path or one of its parents.
func (c *ProtectionEnforcer) wasRemoved(path string) bool {
	for ; len(path) > 1 && len(c.removed) > 0; path = filepath.Dir(path) {
		if c.removed[path] {
			return true
		}
	}
	return false
}

func (c *ProtectionEnforcer) noteDirRemoved(path string) {
	if !c.wasCreated(path) {
		c.notePath(c.removed, path)
	}
	for at := range c.created {
		if paths.Within(path, at) {
			delete(c.created, at)
			c.revert = append(c.revert, func() { c.created[at] = true })
		}
	}
}

// rememberOriginalContent keeps the content of a file before its first change by the command. own means that the command may
// then write the file in place.
func (c *ProtectionEnforcer) rememberOriginalContent(hit protect.ProtectedPath, path string, own bool) (*riskCheckedFile, error) {
	if known := c.judged[path]; known != nil {
		if own && !known.created {
			byGit := known.byGit
			known.created, known.byGit = true, byGit || isGitThread(c.thread)
			c.revert = append(c.revert, func() { known.created, known.byGit = false, byGit })
		}
		return known, nil
	}
	text, err := readContentOrNil(path, false)
	if err != nil {
		return nil, newChangeRefusal(path, "%v", err)
	}
	mode, _ := statFileType(path)
	f := &riskCheckedFile{hit, text, c.files.inside.FindRiskyLines(hit, path, text), mode.Perm(), own, own && isGitThread(c.thread)}
	c.judged[path] = f
	c.revert = append(c.revert, func() { delete(c.judged, path) })
	return f, nil
}

// findChangedRisk returns a part of the new content of a file that makes git act differently from before the command, or
// a part that is missing. It returns "" for harmless content.
func (c *ProtectionEnforcer) findChangedRisk(f *riskCheckedFile, path string, after []byte) string {
	return f.hit.FindChangedRisk(f.risks, c.files.inside.FindRiskyLines(f.hit, path, after))
}

// readContentOrNil reads a file; a missing file has nil content. settled also requires that no program has it open for
// writing.
func readContentOrNil(path string, settled bool) ([]byte, error) {
	dir, err := paths.OpenRoot(filepath.Dir(path))
	if err == nil {
		defer func() { _ = dir.Close() }()
		var text []byte
		if text, err = protect.ReadCheckedFile(dir, filepath.Base(path), settled); err == nil {
			return text, nil
		}
	}
	return nil, ignoreNotExist(err)
}

// statFileType returns the mode of the file at a path and whether it exists.
func statFileType(path string) (mode fs.FileMode, exists bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, false
	}
	return info.Mode(), true
}
