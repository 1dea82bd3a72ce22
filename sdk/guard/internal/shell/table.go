package shell

import "maps"

// table is a map that several states can share: it is copied when one of them changes it.
type table[V any] struct {
	m      map[string]V
	shared bool
}

// share returns the table for a second owner.
func (t *table[V]) share() *table[V] {
	if t != nil {
		t.shared = true
	}
	return t
}

// own returns a table with the same content that nobody else has.
func (t *table[V]) own() *table[V] {
	switch {
	case t == nil:
		return &table[V]{m: map[string]V{}}
	case t.shared:
		return &table[V]{m: maps.Clone(t.m)}
	}
	return t
}

func (t *table[V]) get(key string) (V, bool) {
	if t == nil {
		var none V
		return none, false
	}
	v, ok := t.m[key]
	return v, ok
}

// all is the content, which must not be changed.
func (t *table[V]) all() map[string]V {
	if t == nil {
		return nil
	}
	return t.m
}

// set changes *t, or makes it another table if others have it too.
func set[V any](t **table[V], key string, value V) {
	*t = (*t).own()
	(*t).m[key] = value
}

// unset is set for removing a key.
func unset[V any](t **table[V], key string) {
	if _, ok := (*t).get(key); ok {
		*t = (*t).own()
		delete((*t).m, key)
	}
}

// same says whether two tables have the same content.
func same[V any](a, b *table[V], equal func(V, V) bool) bool {
	return a == b || maps.EqualFunc(a.all(), b.all(), equal)
}
