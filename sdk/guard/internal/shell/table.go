package shell

import (
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
		return &table[V]{}
	case !t.shared:
		return t
	case t.layers < maxLayers:
		return &table[V]{below: t, layers: t.layers + 1}
	}
	return t.copied(in)
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
	layers, _ := t.above(nil)
	m := make(map[string]V, len(t.m)+len(layers[len(layers)-1].m)+1)
	for _, layer := range slices.Backward(layers) {
		maps.Copy(m, layer.m)
		if layer.one {
			m[layer.key] = layer.value
		}
	}
	return m
}

// above are the layers down to another table, which is no part of them. It says whether that table is below.
func (t *table[V]) above(base *table[V]) (layers []*table[V], ok bool) {
	for ; t != base; t = t.below {
		if t == nil {
			return nil, false
		}
		layers = append(layers, t)
	}
	return layers, true
}

// set changes *t, or makes it another table if others have it too.
func set[V any](in *Interpreter, t **table[V], key string, value V) {
	own := (*t).own(in)
	*t = own
	switch {
	case own.one && own.key == key, !own.one && own.m == nil:
		own.key, own.value, own.one = key, value, true
	case own.m == nil:
		own.m = map[string]V{key: value}
	default:
		own.m[key] = value
	}
}

// unset is set for removing a key.
func unset[V any](in *Interpreter, t **table[V], key string) {
	if _, ok := (*t).get(key); !ok {
		return
	}
	*t = (*t).copied(in)
	delete((*t).m, key)
}

// same says whether two tables have the same content.
func same[V any](a, b *table[V], equal func(V, V) bool) bool {
	if a == b {
		return true
	}
	if layers, ok := a.above(b); ok {
		return adds(a, layers, b, equal)
	}
	if layers, ok := b.above(a); ok {
		return adds(b, layers, a, equal)
	}
	return maps.EqualFunc(a.all(), b.all(), equal)
}

// adds says whether the layers of a table above another one only say what that says.
func adds[V any](t *table[V], layers []*table[V], base *table[V], equal func(V, V) bool) bool {
	unchanged := func(key string) bool {
		now, _ := t.get(key)
		before, ok := base.get(key)
		return ok && equal(now, before)
	}
	for _, layer := range layers {
		if layer.one && !unchanged(layer.key) {
			return false
		}
		for key := range layer.m {
			if !unchanged(key) {
				return false
			}
		}
	}
	return true
}
