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

// maxHits is how many protected paths of a tree are returned at most.
const maxHits = 10

// maxJudged is how long a judged file may be, in bytes.
const maxJudged = 1 << 20

// Within returns the entry points in the file or directory at a path, for the time when it stands at another path. Git
// directories without hooks and with harmless configuration have none. A directory that cannot be read is an error.
func (r *Rules) Within(at, as string) ([]Hit, error) {
	if r == nil {
		return nil, nil
	}
	s := r.spot(as)
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
	search := search{rules: r, strict: at != as}
	err = search.visit(parent, filepath.Base(at), s, info)
	return search.found, err
}

// Joined returns the entry points that a directory has once a name is added to it that completes a git directory, such
// as HEAD, or a repository.
func (r *Rules) Joined(dir, name string) (found []Hit, completes bool, err error) {
	if r == nil || !mayComplete(name) {
		return nil, false, nil
	}
	root, err := paths.OpenRoot(dir)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = root.Close() }()
	s := r.spot(dir)
	has := on(dir)
	then := func(n string) bool { return n == name || has(n) }
	before, after := s, s
	r.enter(&before, has)
	r.enter(&after, then)
	if len(before.seen) == len(after.seen) && acts(has) == acts(then) {
		return nil, false, nil
	}
	entries := search{rules: r, added: name, strict: true}
	err = entries.list(root, s)
	return entries.found, true, err
}

// search collects the entry points of a tree.
type search struct {
	rules *Rules
	found []Hit
	added string // a name that counts as there, in the first directory

	strict bool // judged files have to be settled
}

func (w *search) visit(dir *os.Root, name string, s spot, info fs.FileInfo) error {
	hit, ok := w.rules.match(s, info.Mode())
	switch {
	case !ok:
	case hit.Judge != "" && info.Mode().IsRegular():
		text, err := Read(dir, name, w.strict)
		if err != nil || len(w.rules.Risks(hit, s.path, text)) > 0 {
			w.found = append(w.found, hit)
		}
	case hit.Inert(s.path, info.Mode()):
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
	return w.list(below, s)
}

func (w *search) list(dir *os.Root, s spot) error {
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
	w.rules.enter(&s, func(name string) bool { return names[name] })
	for _, e := range entries {
		info, err := dir.Lstat(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = w.visit(dir, e.Name(), s.child(e.Name()), info)
		}
		if err != nil || len(w.found) >= maxHits {
			return err
		}
	}
	return nil
}

// Read reads a judged file. Settled refuses one that could change afterwards without another open: one with another
// name, or one that somebody has open for writing.
func Read(dir *os.Root, name string, settled bool) ([]byte, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if settled {
		if err = checkSettled(f); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxJudged+1))
	if len(text) > maxJudged {
		return nil, fmt.Errorf("%s is longer than %d bytes", name, maxJudged)
	}
	return append([]byte{}, text...), err
}

// scan visits the entries of a directory, and those of the directories for which visit returns true.
func (r *Rules) scan(s spot, visit func(s spot, e fs.DirEntry, hit Hit, ok bool) bool) {
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return // closed to this user, or gone
	}
	r.enter(&s, on(s.path))
	for _, e := range entries {
		below := s.child(e.Name())
		hit, ok := r.match(below, e.Type())
		if visit(below, e, hit, ok) && e.IsDir() {
			r.scan(below, visit)
		}
	}
}

// leads reports whether an entry lies below a spot.
func (r *Rules) leads(s spot) bool {
	return slices.ContainsFunc(s.seen, func(v view) bool {
		return !v.git && slices.ContainsFunc(r.entries[v.parts[0]], func(e entry) bool { return leadsTo(v, e) })
	})
}

// AtTop returns the existing entry points at the top of the workspace and in its git directory, without those whose
// content decides.
func (r *Rules) AtTop() (found []string) {
	if r == nil {
		return nil
	}
	r.scan(spot{path: r.dir}, func(s spot, e fs.DirEntry, hit Hit, ok bool) bool {
		inert := ok && hit.Inert(s.path, e.Type())
		if ok && hit.Judge == "" && !inert {
			found = append(found, s.path)
			return false
		}
		return inert || r.leads(s)
	})
	return found
}

// depth is how far below the workspace Find looks for repositories.
const depth = 2

// Find returns the paths to mount read-only: those that exist of the entries to deny, in repositories down to a depth
// and in the git directories in them. Judged adds the files whose content decides.
func (r *Rules) Find(judged bool) (found []string) {
	if r == nil {
		return nil
	}
	r.scan(spot{path: r.dir}, func(s spot, e fs.DirEntry, hit Hit, ok bool) bool {
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			return false
		case ok && hit.Judge == "" && !hit.Ask, ok && hit.Judge != "" && judged && !e.IsDir():
			found = append(found, hit.Path)
			return false
		}
		for _, v := range s.seen {
			if v.git {
				return !slices.Contains([]string{"objects", "refs", "logs", "lfs", "rr-cache", "reftable"}, v.parts[0])
			}
		}
		return e.Name() == GitDir || r.leads(s) || strings.Count(r.Name(s.path), "/") < depth
	})
	slices.Sort(found)
	return slices.Compact(found)
}
