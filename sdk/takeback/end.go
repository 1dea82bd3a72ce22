package takeback

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Ended is what there is to say about an operation that is over.
type Ended struct {
	ID      string  // for undo; empty if nothing was changed, or nothing could be kept
	Changes Changes // what it has changed
	Lost    []string
	Missing string // why it can't be undone; empty if it can
}

// mostNames is how many changed paths are named.
const mostNames = 10

// End ends the operation. It looks at everything that may have changed, and forgets an operation that has changed
// nothing.
func (r *Recorder) End() Ended {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return Ended{}
	}
	r.over = true
	defer r.dirs.forget()
	r.dirs.forget()
	if r.out != nil && r.dirs.stat(r.files.Dir()) == nil {
		// The sandbox ends with its host, and the workspace is not there any more: what is listed now would be gone.
		return Ended{Missing: "the workspace could not be looked at in the end"}
	}
	for _, p := range r.pending {
		if !r.arrived(p) {
			r.settle(p)
		}
	}
	var c Changes
	list := r.listMoved(&c)
	list = append(list, r.listBefore(&c)...)
	list = append(list, r.listMade(&c)...)
	if r.broken != nil {
		r.op.Missing = reason(r.broken).Error()
	}
	out := Ended{Changes: c, Lost: r.op.Lost, Missing: r.op.Missing}
	if nothing := c.Made+c.Changed+c.Moved+c.Deleted == 0; nothing || r.out == nil {
		r.discard()
		if nothing && len(r.op.Lost) == 0 {
			return Ended{}
		}
		if r.op.Missing == "" {
			r.op.Missing = r.op.Lost[0]
		}
		r.noteUnkept(c)
		return out
	}
	r.op.Changes = &c
	if r.op.Undoes == "" {
		r.op.Summary += c.words(r.files.Dir())
	}
	values := make([]any, len(list))
	for i, e := range list {
		values[i] = e
	}
	err := r.broken
	if err == nil {
		err = r.out.json(path.Join(r.op.ID, listMember), values...)
	}
	if err == nil {
		err = r.out.json(path.Join(r.op.ID, opMember), r.op)
	}
	if err != nil {
		out.Missing = reason(err).Error()
		r.discard()
		r.op.Missing = out.Missing
		r.noteUnkept(c)
		return out
	}
	_ = r.out.file.Close()
	r.store.wrote(r.out.written)
	out.ID = r.op.ID
	return out
}

// discard deletes what was kept.
func (r *Recorder) discard() {
	if r.out != nil {
		r.out.discard()
		r.out = nil
	}
}

// noteUnkept writes down that an operation took place that can't be undone, if there is room for that.
func (r *Recorder) noteUnkept(c Changes) {
	r.op.Recorded, r.op.Changes = true, &c
	if w, err := r.store.Begin(r.op); err == nil {
		_ = w.Commit()
	}
}

// listMoved lists what has another place now.
func (r *Recorder) listMoved(c *Changes) []*Entry {
	r.findRenamed()
	var list []*Entry
	for _, now := range slices.Sorted(maps.Keys(r.ledger.moved)) {
		m := r.ledger.moved[now]
		info := r.dirs.stat(now)
		if info == nil && closed(now) { // undo opens it
			list = append(list, &Entry{Kind: Moved, Path: m.from, Now: now, After: absent})
			c.Moved++
			c.name(now)
			continue
		}
		if info == nil {
			delete(r.ledger.moved, now)
			continue // deleted since, and kept when it was
		}
		if id, _ := identity(info); id != m.id {
			delete(r.ledger.moved, now)
			continue
		}
		list = append(list, &Entry{Kind: Moved, Path: m.from, Now: now, After: stateOf(info)})
		c.Moved++
		c.name(now)
	}
	return list
}

// listBefore lists what is not any more what it was.
func (r *Recorder) listBefore(c *Changes) []*Entry {
	places := r.places()
	gone := map[string]bool{} // directories that are not there any more
	var list []*Entry
	for _, e := range r.order {
		now := place(places, e.Path)
		dir := filepath.Dir(now)
		var info fs.FileInfo
		if !gone[dir] {
			info = r.dirs.stat(now)
		}
		e.After = absent
		if info != nil {
			e.After = stateOf(info)
		}
		switch {
		case info == nil:
			gone[now] = true
			if _, remade := r.ledger.made[e.Path]; !remade {
				c.Deleted++
				c.name(e.Path)
			}
		case e.Kind != Dir && e.After == e.state:
			continue // opened for writing, and not written to
		case e.Kind != Dir || e.After != e.state || e.given && r.otherAttributes(e, now):
			c.Changed++
			c.name(e.Path)
		case info.ModTime().UnixNano() == e.Modified && r.same(e, now):
			continue
		default:
			e.TimeOnly = true
		}
		list = append(list, e)
	}
	return list
}

// same reports whether the directory at a path is the one that an entry is about.
func (r *Recorder) same(e *Entry, now string) bool {
	was, made := r.ledger.origin(now)
	return !made && was == e.Path
}

// otherAttributes reports whether a directory has other extended attributes than it had.
func (r *Recorder) otherAttributes(e *Entry, now string) bool {
	dir, _ := r.dirs.open(filepath.Join(now, "x"))
	if dir == nil {
		return false
	}
	f, err := dir.Open(".")
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	has, err := workspace.Attributes(f)
	return err == nil && !maps.Equal(has, e.Attributes)
}

// places is where what was moved is now, by where it was before.
func (r *Recorder) places() map[string]string {
	all := map[string]string{}
	for now, m := range r.ledger.moved {
		all[m.from] = now
	}
	return all
}

// place is where what was at a path before is now.
func place(places map[string]string, was string) string {
	if len(places) == 0 {
		return was
	}
	for at := was; ; at = filepath.Dir(at) {
		if now, ok := places[at]; ok {
			return now + was[len(at):]
		}
		if at == filepath.Dir(at) {
			return was
		}
	}
}

// errTooMany ends the look at what was made.
var errTooMany = errors.New("too many")

// listMade lists what was made, with all that is in it.
func (r *Recorder) listMade(c *Changes) []*Entry {
	var list []*Entry
	listed := map[string]bool{}
	for _, top := range slices.Sorted(maps.Keys(r.ledger.made)) {
		if listed[top] {
			continue
		}
		err := r.files.Look(guard.Write, top, func(t *workspace.Tree) error {
			return t.Walk(func(e *workspace.Entry) error {
				at := filepath.Join(top, filepath.FromSlash(e.Name))
				if _, moved := r.ledger.moved[at]; moved {
					if e.Info.IsDir() {
						return fs.SkipDir
					}
					return nil
				}
				if len(list) > mostEntries {
					return errTooMany
				}
				if len(at) > longest {
					r.loseOnce(fmt.Sprintf("%.100s… and other paths of more than %d bytes", at, longest))
					return fs.SkipDir
				}
				listed[at] = true
				list = append(list, &Entry{Kind: Made, Path: at, After: stateOf(e.Info)})
				if was := r.before[at]; was == nil || was.Kind == Dir {
					c.Made++
					c.name(at)
				}
				return nil
			})
		})
		if !listed[top] && closed(top) {
			list = append(list, &Entry{Kind: Made, Path: top, After: absent})
			c.Made++
			c.name(top)
		}
		if errors.Is(err, errTooMany) && r.broken == nil {
			r.broken = errors.New("it made more paths than are kept of one operation")
		}
	}
	return list
}

func (c *Changes) name(path string) {
	if len(c.Names) < mostNames {
		c.Names = append(c.Names, path)
	}
}

// words tells the changes in short: how many, and some names, within a directory without it.
func (c *Changes) words(dir string) string {
	var parts []string
	for _, part := range []struct {
		verb string
		n    int
	}{{"made", c.Made}, {"changed", c.Changed}, {"moved", c.Moved}, {"deleted", c.Deleted}} {
		if part.n > 0 {
			parts = append(parts, part.verb+" "+strconv.Itoa(part.n))
		}
	}
	const shown = 3
	var names []string
	for _, name := range c.Names[:min(shown, len(c.Names))] {
		names = append(names, strings.TrimPrefix(name, dir+string(filepath.Separator)))
	}
	text := ": " + strings.Join(parts, ", ") + " (" + strings.Join(names, ", ")
	if c.Made+c.Changed+c.Moved+c.Deleted > len(names) {
		text += ", …"
	}
	return text + ")"
}
