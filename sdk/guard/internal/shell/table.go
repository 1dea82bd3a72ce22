package shell

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
)

// table is a map that never changes, as a tree of its keys' hashes: a key is set in another table, which shares with
// this one all but the way to that key. So states are cheap to copy, and where two have grown apart shows without
// looking at what they share. The zero table is empty, and nil is too.
type table[V any] struct {
	taken uint16 // the places that have a branch, by the bits of the hash at this depth
	kids  []branch[V]
}

// branch is one place in a table: a key with its value, or a table of those whose hashes go on differently.
type branch[V any] struct {
	entry *entry[V]
	table *table[V]
}

// entry is a key with its value. Keys with the same hash hang together.
type entry[V any] struct {
	key   string
	hash  uint32
	value V
	next  *entry[V]
}

// depthBits is how many bits of a hash say where a key is at one depth.
const depthBits = 4

// seed makes hashes that nobody can choose keys by.
var seed = maphash.MakeSeed()

func hashOf(key string) uint32 { return uint32(maphash.String(seed, key)) }

// place is where a hash belongs at a depth, and how many branches are before it.
func (t *table[V]) place(hash uint32, depth int) (bit uint16, before int) {
	bit = 1 << (hash >> (depth * depthBits) & (1<<depthBits - 1))
	return bit, bits.OnesCount16(t.taken & (bit - 1))
}

func (t *table[V]) get(in *Interpreter, key string) (v V, ok bool) {
	if t == nil && in.recording == 0 {
		return v, false
	}
	hash := hashOf(key)
	e := t.find(key, hash, 0)
	looked(in, hash, e)
	return e.content(), e != nil
}

// has says whether a set has a name.
func has(in *Interpreter, set *table[bool], name string) bool {
	_, ok := set.get(in, name)
	return ok
}

// kind is get for those who only heed a value that isn't simple.
func (t *table[V]) kind(in *Interpreter, key string) V {
	if t == nil && in.recording == 0 {
		return (*entry[V])(nil).content()
	}
	hash := hashOf(key)
	e := t.find(key, hash, 0)
	if in.recording > 0 {
		in.reads = append(in.reads, read{hash: hash, entry: e, kind: true})
	}
	return e.content()
}

// content is an entry's value; that of none is the zero value.
func (e *entry[V]) content() (v V) {
	if e != nil {
		v = e.value
	}
	return v
}

// either is one of two entries of the same key, one of which may be nil.
func either[V any](a, b *entry[V]) *entry[V] {
	if a == nil {
		return b
	}
	return a
}

// find returns the entry of a key below a depth, or nil.
func (t *table[V]) find(key string, hash uint32, depth int) *entry[V] {
	for ; t != nil; depth++ {
		bit, at := t.place(hash, depth)
		if t.taken&bit == 0 {
			return nil
		}
		if e := t.kids[at].entry; e != nil {
			for e != nil && e.key != key {
				e = e.next
			}
			return e
		}
		t = t.kids[at].table
	}
	return nil
}

// all are the keys and their values.
func (t *table[V]) all(in *Interpreter) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		listed(in, t, func(string) bool { return true })
		t.each(func(e *entry[V]) bool {
			looked(in, e.hash, e)
			return yield(e.key, e.value)
		})
	}
}

// each calls yield with each entry, until it returns false.
func (t *table[V]) each(yield func(*entry[V]) bool) bool {
	if t == nil {
		return true
	}
	for _, b := range t.kids {
		if !b.each(yield) {
			return false
		}
	}
	return true
}

func (b branch[V]) each(yield func(*entry[V]) bool) bool {
	for e := b.entry; e != nil; e = e.next {
		if !yield(e) {
			return false
		}
	}
	return b.table.each(yield)
}

// keys are those keys that are to be kept, sorted. Whether a key is must not depend on anything that changes.
func (t *table[V]) keys(in *Interpreter, keep func(key string) bool) (keys []string) {
	listed(in, t, keep)
	t.each(func(e *entry[V]) bool {
		if keep(e.key) {
			keys = append(keys, e.key)
		}
		return true
	})
	slices.Sort(keys)
	return keys
}

// set makes *t a table in which the key has the value.
func set[V any](in *Interpreter, t **table[V], key string, value V) {
	e := newEntry[V](in)
	e.key, e.hash, e.value = key, hashOf(key), value
	*t = (*t).with(in, e, 0)
}

// with is the table with another entry.
func (t *table[V]) with(in *Interpreter, e *entry[V], depth int) *table[V] {
	if t == nil {
		t = &table[V]{}
	}
	bit, at := t.place(e.hash, depth)
	if t.taken&bit == 0 {
		n := newTable[V](in, len(t.kids)+1)
		n.taken = t.taken | bit
		n.kids = append(append(append(n.kids, t.kids[:at]...), branch[V]{entry: e}), t.kids[at:]...)
		return n
	}
	n := newTable[V](in, len(t.kids))
	n.taken, n.kids = t.taken, append(n.kids, t.kids...)
	switch old := t.kids[at]; {
	case old.entry == nil:
		n.kids[at].table = old.table.with(in, e, depth+1)
	case old.entry.hash == e.hash:
		e.next = old.entry.without(in, e.key)
		n.kids[at].entry = e
	default: // both go one deeper
		below := newTable[V](in, 1)
		below.taken, _ = below.place(old.entry.hash, depth+1)
		below.kids = append(below.kids, old)
		n.kids[at] = branch[V]{table: below.with(in, e, depth+1)}
	}
	return n
}

// without are the entries of one hash without a key.
func (e *entry[V]) without(in *Interpreter, key string) *entry[V] {
	if e == nil || e.key == key {
		if e != nil {
			return e.next
		}
		return nil
	}
	kept := newEntry[V](in)
	*kept = *e
	kept.next = e.next.without(in, key)
	return kept
}

// unset is set for removing a key.
func unset[V any](in *Interpreter, t **table[V], key string) {
	hash := hashOf(key)
	e := (*t).find(key, hash, 0)
	if looked(in, hash, e); e != nil {
		*t = (*t).without(in, key, hash, 0)
	}
}

// without is the table without a key that it has; nil if that leaves nothing.
func (t *table[V]) without(in *Interpreter, key string, hash uint32, depth int) *table[V] {
	bit, at := t.place(hash, depth)
	kept := t.kids[at]
	if kept.entry != nil {
		kept.entry = kept.entry.without(in, key)
	} else {
		kept.table = kept.table.without(in, key, hash, depth+1)
	}
	n := newTable[V](in, len(t.kids))
	n.taken, n.kids = t.taken, append(n.kids, t.kids...)
	if n.kids[at] = kept; kept.entry == nil && kept.table == nil {
		if n.taken, n.kids = n.taken&^bit, slices.Delete(n.kids, at, at+1); n.taken == 0 {
			return nil
		}
	}
	return n
}

// changes calls yield with the entries of two tables that are not the same entry, by their keys, until it returns false.
// One of the two may be nil.
func changes[V any](in *Interpreter, a, b *table[V], yield func(a, b *entry[V]) bool) bool {
	if in.recording == 0 {
		return apart(in, a, b, 0, yield)
	}
	return apart(in, a, b, 0, func(a, b *entry[V]) bool {
		looked(in, either(a, b).hash, a)
		looked(in, either(a, b).hash, b)
		return yield(a, b)
	})
}

// apart is changes, for tables at a depth, and not noted.
func apart[V any](in *Interpreter, a, b *table[V], depth int, yield func(a, b *entry[V]) bool) bool {
	switch {
	case a == b:
		return true
	case a == nil:
		return b.each(func(e *entry[V]) bool { in.work += perWord; return yield(nil, e) })
	case b == nil:
		return a.each(func(e *entry[V]) bool { in.work += perWord; return yield(e, nil) })
	}
	for both := a.taken | b.taken; both != 0; both &= both - 1 {
		bit := both & -both
		ours, theirs := a.at(bit), b.at(bit)
		switch {
		case ours == theirs:
		case ours.entry == nil && theirs.entry == nil:
			if !apart(in, ours.table, theirs.table, depth+1, yield) {
				return false
			}
		case !ours.each(func(e *entry[V]) bool {
			in.work += perWord
			other := theirs.find(e, depth)
			return other == e || yield(e, other)
		}), !theirs.each(func(e *entry[V]) bool {
			in.work += perWord
			return ours.find(e, depth) != nil || yield(nil, e)
		}):
			return false
		}
	}
	return true
}

// at is the branch at a place, which is empty if there is none.
func (t *table[V]) at(bit uint16) branch[V] {
	if t.taken&bit == 0 {
		return branch[V]{}
	}
	return t.kids[bits.OnesCount16(t.taken&(bit-1))]
}

// find returns the entry in a branch at a depth that has the same key as another one, or nil.
func (b branch[V]) find(like *entry[V], depth int) *entry[V] {
	for e := b.entry; e != nil; e = e.next {
		if e.key == like.key {
			return e
		}
	}
	return b.table.find(like.key, like.hash, depth+1)
}

// same says whether two tables have the same content.
func same[V any](in *Interpreter, a, b *table[V], equal func(V, V) bool) bool {
	return a == b || changes(in, a, b, func(ours, theirs *entry[V]) bool {
		return ours != nil && theirs != nil && equal(ours.value, theirs.value)
	})
}
