package takeback

import (
	"maps"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// ledger knows where what was there before an operation is now. It does no I/O.
//
// A path has one of three meanings while the operation runs: what is there was there before; it was made since, itself
// or a directory above it; or it was moved there, itself or a directory above it, and so was somewhere else before. The
// nearest of those above a path counts.
type ledger struct {
	made  map[string]fileID // what was made or has taken a kept file's contents along
	moved map[string]move   // by the place where it is now
}

// move is something that has another place now.
type move struct {
	from string // where it was before the operation
	id   fileID
}

// fileID tells a file from all others for as long as it exists.
type fileID struct{ device, inode uint64 }

func newLedger() ledger { return ledger{made: map[string]fileID{}, moved: map[string]move{}} }

// origin returns the path that what is at a path had before the operation; made reports that it had none.
func (l *ledger) origin(path string) (was string, made bool) {
	if len(l.made)+len(l.moved) == 0 {
		return path, false
	}
	for at := path; ; at = filepath.Dir(at) {
		if m, ok := l.moved[at]; ok {
			return m.from + path[len(at):], false
		}
		if _, ok := l.made[at]; ok {
			return "", true
		}
		if at == filepath.Dir(at) {
			return path, false
		}
	}
}

// holding is what stands at a path: something that was made, or what was at another path before.
type holding struct {
	made bool // or what was there before is kept whole, so that it may as well have been
	from string
	id   fileID
}

// take takes what is at a path away.
func (l *ledger) take(path string) {
	delete(l.made, path)
	delete(l.moved, path)
}

// put puts it where nothing is, or something that is replaced.
func (l *ledger) put(path string, h holding) {
	delete(l.made, path)
	delete(l.moved, path)
	switch {
	case h.made:
		l.made[path] = h.id
	default:
		if was, made := l.origin(path); made || was != h.from { // else it is where it belongs
			l.moved[path] = move{h.from, h.id}
		}
	}
}

// rename gives what is at a path, with all that is below it if it is a directory, another one.
func (l *ledger) rename(from, to string, h holding, dir bool) {
	l.take(from)
	if dir {
		l.clear(to)
		l.carry(from, to)
	}
	l.put(to, h)
}

// takeBack takes a rename back that has not taken place. What has come below its old path since stays there.
func (l *ledger) takeBack(from, to string, h holding) {
	l.take(to)
	l.carry(to, from)
	l.put(from, h)
}

// exchange has two paths change places.
func (l *ledger) exchange(a, b string, atA, atB holding) {
	const between = "\x00" // no path
	l.take(a)
	l.take(b)
	l.carry(a, between)
	l.carry(b, a)
	l.carry(between, b)
	l.put(a, atB)
	l.put(b, atA)
}

// clear forgets what is below a path that is replaced: it was empty.
func (l *ledger) clear(path string) {
	below := func(at string) bool { return at != path && paths.Within(path, at) }
	maps.DeleteFunc(l.made, func(at string, _ fileID) bool { return below(at) })
	maps.DeleteFunc(l.moved, func(at string, _ move) bool { return below(at) })
}

// carry gives what is below a path the same place below another one.
func (l *ledger) carry(from, to string) {
	carryKeys(l.made, from+"/", to+"/")
	carryKeys(l.moved, from+"/", to+"/")
}

func carryKeys[V any](all map[string]V, from, to string) {
	carried := map[string]V{}
	for path, v := range all {
		if rest, ok := strings.CutPrefix(path, from); ok {
			carried[to+rest] = v
			delete(all, path)
		}
	}
	for path, v := range carried {
		all[path] = v
	}
}
