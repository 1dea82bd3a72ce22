package takeback

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Conflict is why an operation is not taken back: something is not any more as it has left it.
type Conflict struct {
	Path    string
	Problem string
}

func (e *Conflict) Error() string { return e.Path + " " + e.Problem }

// Undone is what was taken back, or would be.
type Undone struct {
	Paths []string // what was put back or deleted
	Ended Ended    // the operation that this was
}

// Conflict finds what is not any more as the operation has left it; nil for nothing.
func (l *List) Conflict(w *workspace.Workspace) *Conflict {
	if l.Op.Changes == nil {
		return &Conflict{l.Op.Summary, "was killed, or still runs: its end was not seen"}
	}
	places, made := map[string]string{}, map[string]bool{}
	for _, e := range l.Entries {
		switch e.Kind {
		case Moved:
			places[e.Path] = e.Now
		case Made:
			made[e.Path] = true
		}
	}
	d := dirs{files: w, exact: true}
	defer d.forget()
	for _, e := range l.Entries {
		at := e.Path
		if e.Kind == Moved {
			at = e.Now
		} else if e.Kind != Made {
			at = place(places, e.Path)
		}
		now := absent
		info := d.stat(at)
		if info != nil {
			now = stateOf(info)
		}
		if now != e.After {
			return &Conflict{at, "has changed since"}
		}
		if e.Kind == Made && info.IsDir() {
			if extra := others(d, at, made, places); extra != "" {
				return &Conflict{extra, "was made since, where a directory is to be deleted"}
			}
		}
	}
	return nil
}

// others finds something in a directory that was made which the operation did not put there.
func others(d dirs, path string, made map[string]bool, places map[string]string) string {
	root, err := d.files.OpenRoot(path)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }()
	dir, err := root.Open(".")
	if err != nil {
		return ""
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		at := filepath.Join(path, name)
		moved := false
		for _, now := range places {
			moved = moved || now == at
		}
		if !made[at] && !moved {
			return at
		}
	}
	return ""
}

// Paths are those that are put back or deleted when the operation is taken back.
func (l *List) Paths() []string {
	var all []string
	for _, e := range l.Entries {
		if e.Kind == Dir && strings.HasPrefix(e.After, "dir") && e.After == fmt.Sprintf("dir %o", e.Mode.Perm()) {
			continue // its time alone
		}
		all = append(all, e.Path)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Undo puts back what an operation has changed, whatever is there now: see [List.Conflict]. Nothing else is touched.
// What it destroys is recorded, as an operation of its own.
func (j *Store) Undo(ctx context.Context, l *List, w *workspace.Workspace) (Undone, error) {
	if l.Op.Changes == nil {
		l.expand(w)
	}
	r := j.Record("undo", "undo of "+l.Op.Summary, w)
	r.op.Undoes, r.dirs.exact = l.Op.ID, true
	u := &undoing{ctx: ctx, list: l, w: w, record: r, built: map[string]bool{}, back: map[string]string{}}
	out := Undone{Paths: l.Paths()}
	err := u.all()
	out.Ended = r.End()
	return out, err
}

// expand lists what is in the directories that were made, for an operation whose end was not seen.
func (l *List) expand(w *workspace.Workspace) {
	known := map[string]bool{}
	for _, e := range l.Entries {
		known[e.Path], known[e.Now] = true, true
	}
	for _, made := range slices.Clone(l.Entries) {
		if made.Kind != Made {
			continue
		}
		_ = w.Look(guard.Write, made.Path, func(t *workspace.Tree) error { // what is not there any more is no matter
			return t.Walk(func(e *workspace.Entry) error {
				if at := filepath.Join(made.Path, filepath.FromSlash(e.Name)); !known[at] {
					l.Entries = append(l.Entries, &Entry{Kind: Made, Path: at})
				}
				return nil
			})
		})
	}
}

// Refused returns the first path of an operation that a policy does not open to be changed; "" for none.
func (l *List) Refused(allowed func(access guard.Access, path string) bool) string {
	for _, e := range l.Entries {
		access := guard.Write
		if e.Kind == Sym {
			access = guard.Delete // the link itself, wherever it leads
		}
		for _, path := range []string{e.Path, e.Now} {
			if path != "" && !allowed(access, path) {
				return path
			}
		}
	}
	return ""
}
