package shell

import (
	"iter"
	"maps"
	"slices"
)

// table is a map that several states can share. One of them that changes it gets a layer of its own above it.
// Most layers have one entry, which needs no map.
type table[V any] struct {
	key    string
	value  V
	one    bool // key has value
	m      map[string]V
	below  *table[V]
	layers int  // below
	shared bool // with another state
}

// maxLayers is how many layers a table may have before it is copied.
const maxLayers = 8

// share returns the table for a second owner.
func (t *table[V]) share() *table[V] {
	if t != nil {
		t.shared = true
	}
	return t
}

// own returns a table with the same content that nobody else has.
func (t *table[V]) own(in *Interpreter) *table[V] {
	switch {
	case t == nil:
		return layer[V](in, nil, 0)
	case !t.shared:
		return t
	case t.layers < maxLayers:
		return layer(in, t, t.layers+1)
	}
	return t.copied(in)
}

// above is own for somebody who sets a key: a layer that has nothing but this key need not stay below.
func (t *table[V]) above(in *Interpreter, key string) *table[V] {
	if t != nil && t.shared && t.m == nil && t.one && t.key == key {
		return layer(in, t.below, t.layers)
	}
	return t.own(in)
}

// copied returns a copy in one layer.
func (t *table[V]) copied(in *Interpreter) *table[V] {
	m := t.all()
	in.work += len(m) * perWord
	return &table[V]{m: m}
}

func (t *table[V]) get(key string) (v V, ok bool) {
	for ; t != nil; t = t.below {
		if t.one && t.key == key {
			return t.value, true
		}
		if v, ok = t.m[key]; ok {
			break
		}
	}
	return v, ok
}

// all is a copy of the content.
func (t *table[V]) all() map[string]V {
	if t == nil {
		return nil
	}
	layers := t.stack()
	m := make(map[string]V, len(t.m)+len(layers[len(layers)-1].m)+1)
	for _, layer := range slices.Backward(layers) {
		maps.Copy(m, layer.m)
		if layer.one {
			m[layer.key] = layer.value
		}
	}
	return m
}

// keys are those keys that are to be kept, sorted.
func (t *table[V]) keys(keep func(key string) bool) (keys []string) {
	for ; t != nil; t = t.below {
		if t.one && keep(t.key) {
			keys = append(keys, t.key)
		}
		for key := range t.m {
			if keep(key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// stack are the layers, the topmost first.
func (t *table[V]) stack() (layers []*table[V]) {
	for ; t != nil; t = t.below {
		layers = append(layers, t)
	}
	return layers
}

// grewFrom says whether the table is another one, or has layers above it.
func (t *table[V]) grewFrom(base *table[V]) bool {
	for ; t != base; t = t.below {
		if t == nil {
			return false
		}
	}
	return true
}

// set changes *t, or makes it another table if others have it too.
func set[V any](in *Interpreter, t **table[V], key string, value V) {
	own := (*t).above(in, key)
	*t = own
	switch {
	case own.one && own.key == key, !own.one && own.m == nil:
		own.key, own.value, own.one = key, value, true
	case own.m == nil:
		own.m = entries[V](in)
		own.m[key] = value
	default:
		own.m[key] = value
	}
}

// unset is set for removing a key.
func unset[V any](in *Interpreter, t **table[V], key string) {
	if _, ok := (*t).get(key); !ok {
		return
	}
	if (*t).shared || (*t).below != nil {
		*t = (*t).copied(in)
	}
	own := *t
	if delete(own.m, key); own.one && own.key == key {
		own.one = false
	}
}

// common is the table that two tables have grown from, nil if there is none.
func common[V any](a, b *table[V]) *table[V] {
	for a != b {
		switch {
		case a == nil || b == nil:
			return nil
		case a.layers > b.layers:
			a = a.below
		case b.layers > a.layers:
			b = b.below
		default:
			a, b = a.below, b.below
		}
	}
	return a
}

// changed are the keys that a table has in its layers above another one, which is below it. Some may come twice.
func (t *table[V]) changed(in *Interpreter, base *table[V]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for ; t != base; t = t.below {
			in.work += (1 + len(t.m)) * perWord
			if t.one && !yield(t.key) {
				return
			}
			for key := range t.m {
				if !yield(key) {
					return
				}
			}
		}
	}
}

// same says whether two tables have the same content.
func same[V any](in *Interpreter, a, b *table[V], equal func(V, V) bool) bool {
	if a == b {
		return true
	}
	base := common(a, b)
	for _, keys := range []iter.Seq[string]{a.changed(in, base), b.changed(in, base)} {
		for key := range keys {
			ours, here := a.get(key)
			theirs, there := b.get(key)
			if here != there || !equal(ours, theirs) {
				return false
			}
		}
	}
	return true
}
