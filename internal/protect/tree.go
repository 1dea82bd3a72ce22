package protect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// maxHits is the maximum number of protected paths that a search returns.
const maxHits = 10

// maxJudged and maxIndex are the maximum sizes in bytes of a file whose content is checked, and of a git index.
const maxJudged, maxIndex = 1 << 20, 64 << 20

// FindProtectedInTree returns the paths that would be protected if the file or directory at path at were at path as. It
// skips git directories without hooks and with harmless configuration, and fails if a directory can't be read.
func (r *Rules) FindProtectedInTree(at, as string) ([]ProtectedPath, error) {
	if r == nil {
		return nil, nil
	}
	s := r.newPathForms(as)
	if len(s.seen) == 0 && !paths.Within(r.dir, as) && (r.outside == nil || !r.outside(as)) {
		return nil, nil // nothing is protected there
	}
	parent, err := paths.OpenRoot(filepath.Dir(at))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = parent.Close() }()
	info, err := parent.Lstat(filepath.Base(at))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	search := treeSearch{rules: r, strict: at != as}
	err = search.visitEntry(parent, filepath.Base(at), s, info)
	return search.found, err
}

// FindProtectedByNewName returns the paths that become protected when a name is added to a directory. A name such as
// HEAD or .git may complete a git directory or a repository; completes reports whether it does. Inside another git
// directory, it is protected itself, except where git keeps submodules and work trees. Names that begin with temporary,
// if it is not empty, are the caller's own and stay out.
func (r *Rules) FindProtectedByNewName(dir, name, temporary string) (found []ProtectedPath, completes bool, err error) {
	if r == nil || !mayCompleteGitDir(name) {
		return nil, false, nil
	}
	root, err := paths.OpenRoot(dir)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = root.Close() }()
	s := r.newPathForms(dir)
	has := newExistsFunc(dir)
	then := func(n string) bool { return n == name || has(n) }
	before, after := s, s
	r.addRelativeForms(&before, has)
	r.addRelativeForms(&after, then)
	if len(before.seen) == len(after.seen) && isCompleteGitDir(has) == isCompleteGitDir(then) {
		return nil, false, nil
	}
	for _, v := range s.seen {
		if v.git && r.other != nil && !slices.Contains([]string{"modules", "worktrees"}, v.parts[0]) {
			return []ProtectedPath{{Entry: GitDir, Ask: r.other.ask, Top: v.top, Path: filepath.Join(dir, name)}}, true, nil
		}
	}
	entries := treeSearch{rules: r, added: name, temporary: temporary, strict: true}
	err = entries.visitDirEntries(root, s)
	return entries.found, true, err
}

// treeSearch collects the protected paths of a tree.
type treeSearch struct {
	rules *Rules
	found []ProtectedPath
	added string // name that counts as existing in the first directory

	temporary string // prefix of names to ignore; empty for none
	strict    bool   // fail for content-checked files that may still change
}

func (w *treeSearch) visitEntry(dir *os.Root, name string, s relativePathSet, info fs.FileInfo) error {
	hit, ok := w.rules.matchPath(s, info.Mode())
	switch {
	case !ok:
	case hit.ContentRule != "" && info.Mode().IsRegular():
		text, err := ReadCheckedFile(dir, name, w.strict)
		if err != nil || len(w.rules.FindRiskyLines(hit, s.path, text)) > 0 {
			w.found = append(w.found, hit)
		}
	case hit.ProtectsOnlyFilesIn(s.path, info.Mode()):
	default:
		w.found = append(w.found, hit)
		return nil
	}
	if len(w.found) >= maxHits || !info.IsDir() {
		return nil
	}
	below, err := dir.OpenRoot(name)
	if err != nil {
		return fmt.Errorf("look into %s: %w", s.path, err)
	}
	defer func() { _ = below.Close() }()
	return w.visitDirEntries(below, s)
}

func (w *treeSearch) visitDirEntries(dir *os.Root, s relativePathSet) error {
	handle, err := dir.Open(".")
	if err != nil {
		return fmt.Errorf("look into %s: %w", s.path, err)
	}
	entries, err := handle.ReadDir(-1)
	if err = errors.Join(err, handle.Close()); err != nil {
		return fmt.Errorf("look into %s: %w", s.path, err)
	}
	names := map[string]bool{w.added: w.added != ""}
	w.added = ""
	for _, e := range entries {
		names[e.Name()] = true
	}
	w.rules.addRelativeForms(&s, func(name string) bool { return names[name] })
	for _, e := range entries {
		info, err := dir.Lstat(e.Name())
		if errors.Is(err, fs.ErrNotExist) || w.temporary != "" && strings.HasPrefix(e.Name(), w.temporary) {
			continue
		}
		if err == nil {
			err = w.visitEntry(dir, e.Name(), s.childForms(e.Name()), info)
		}
		if err != nil || len(w.found) >= maxHits {
			return err
		}
	}
	return nil
}

// ReadCheckedFile reads a file whose content is checked. With settled, it refuses a file that another program could
// still change: one with another hard link, or one that is open for writing.
func ReadCheckedFile(dir *os.Root, name string, settled bool) ([]byte, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if settled {
		if err = CheckNoWriterOrLink(f); err != nil {
			return nil, err
		}
	}
	limit := maxJudged
	if strings.Contains(name, "index") {
		limit = maxIndex
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if len(text) > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", name, limit)
	}
	return append([]byte{}, text...), err
}

// scanDir calls visit for the entries of a directory, and for those of subdirectories for which visit returns true.
func (r *Rules) scanDir(s relativePathSet, visit func(s relativePathSet, e fs.DirEntry, hit ProtectedPath, ok bool) bool) {
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return // closed to this user, or gone
	}
	r.addRelativeForms(&s, newExistsFunc(s.path))
	for _, e := range entries {
		below := s.childForms(e.Name())
		hit, ok := r.matchPath(below, e.Type())
		if visit(below, e, hit, ok) && e.IsDir() {
			r.scanDir(below, visit)
		}
	}
}

func (r *Rules) isParentOfAnyEntry(s relativePathSet) bool {
	return slices.ContainsFunc(s.seen, func(v relativePath) bool {
		return !v.git && slices.ContainsFunc(slices.Concat(r.entries[v.parts[0]], r.entries[patterns]), func(e protectEntry) bool { return isParentOfEntry(v, e) })
	})
}

// FindProtectedAtTop returns the existing protected paths at the top of the workspace and in its git directory. It skips files
// whose content is checked.
func (r *Rules) FindProtectedAtTop() (found []string) {
	if r == nil {
		return nil
	}
	r.scanDir(relativePathSet{path: r.dir}, func(s relativePathSet, e fs.DirEntry, hit ProtectedPath, ok bool) bool {
		inert := ok && hit.ProtectsOnlyFilesIn(s.path, e.Type())
		if ok && hit.ContentRule == "" && !inert {
			found = append(found, s.path)
			return false
		}
		return inert || r.isParentOfAnyEntry(s)
	})
	return found
}

// maxRepoDepth is the maximum depth below the workspace at which FindReadOnlyPaths searches repositories.
const maxRepoDepth = 2

// FindReadOnlyPaths returns existing paths of Deny entries, for read-only mounts. It searches the workspace, and
// repositories and git directories near its top. judged adds the files whose content is checked.
func (r *Rules) FindReadOnlyPaths(judged bool) (found []string) {
	if r == nil {
		return nil
	}
	r.scanDir(relativePathSet{path: r.dir}, func(s relativePathSet, e fs.DirEntry, hit ProtectedPath, ok bool) bool {
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			return false
		case ok && hit.ContentRule == "" && !hit.Ask, ok && hit.ContentRule != "" && hit.ContentRule != "index" && judged && !e.IsDir():
			found = append(found, hit.Path)
			return false
		}
		for _, v := range s.seen {
			if v.git {
				return !slices.Contains([]string{"objects", "refs", "logs", "lfs", "rr-cache", "reftable"}, v.parts[0])
			}
		}
		return e.Name() == GitDir || r.isParentOfAnyEntry(s) || strings.Count(r.RelativeName(s.path), "/") < maxRepoDepth
	})
	slices.Sort(found)
	return slices.Compact(found)
}
