package isolation

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// rulesets keeps the last ruleset: whoever starts many children with one profile makes its rules once. Each child has a
// domain of its own all the same.
type rulesets struct {
	mu   sync.Mutex
	key  string
	last *ruleset
}

// get returns the ruleset for a key, which it makes unless it was the last one. The caller releases it.
func (r *rulesets) get(key string, make func() (*ruleset, error)) (*ruleset, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || r.key != key {
		made, err := make()
		if err != nil {
			return nil, err
		}
		made.users.Store(1)
		if r.last != nil {
			r.last.release()
		}
		r.key, r.last = key, made
	}
	r.last.users.Add(1)
	return r.last, nil
}

func (r *rulesets) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil {
		r.last.release()
	}
	r.key, r.last = "", nil
}

// ruleKey says what a ruleset depends on: the paths, and which files and directories they name now. A rule is about
// these and not about their names.
func ruleKey(program string, p Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%t %t %t %q\n", p.Exec, p.Network, p.Terminals, p.Programs)
	for _, list := range [][]string{{program}, p.ReadOnly, p.ReadWrite} {
		for _, path := range list {
			var stat unix.Stat_t
			_ = unix.Stat(path, &stat) // what is not there has no number
			fmt.Fprintf(&b, "%q %d:%d\n", path, stat.Dev, stat.Ino)
		}
		b.WriteByte('\n')
	}
	for _, hidden := range p.Hide {
		for _, tree := range slices.Concat(p.ReadOnly, p.ReadWrite) {
			if !below(tree, hidden) {
				continue
			}
			for _, dir := range way(tree, hidden) { // what lies in it counts
				var stat unix.Stat_t
				_ = unix.Stat(dir, &stat)
				fmt.Fprintf(&b, "%q %d:%d %v\n", dir, stat.Dev, stat.Ino, stat.Mtim)
			}
		}
	}
	return b.String()
}
