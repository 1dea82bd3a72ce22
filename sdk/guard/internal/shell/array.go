package shell

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxIndex is the highest index of an array that is followed.
const maxIndex = 1 << 16

// array sets a whole array.
func (in *Interpreter) array(a *syntax.Assign, st *state, x *expansion) {
	name := a.Name.Value
	before := st.Get(name)
	v := expand.Variable{Set: true, Kind: expand.Indexed}
	if before.Kind == expand.Associative {
		v.Kind = expand.Associative
	}
	if a.Append {
		v.List, v.Indexes, v.Map = slices.Clone(before.List), slices.Clone(before.Indexes), maps.Clone(before.Map)
	}
	next := len(v.List)
	if n := len(v.Indexes); n > 0 {
		next = v.Indexes[n-1] + 1
	}
	known := true
	for _, elem := range a.Array.Elems {
		if elem.Index != nil {
			value := x.assigned(elem.Value)
			next, known = x.element(&v, elem.Index, value, known)
			continue
		}
		for _, f := range x.fields([]*syntax.Word{elem.Value}) {
			known = known && setElement(&v, next, f.Text)
			next++
		}
	}
	in.setArray(st, name, v, known)
}

// element sets the element of an array that has an index. It returns the index behind it, and whether all of the array is known.
func (x *expansion) element(v *expand.Variable, index syntax.ArithmExpr, value string, known bool) (next int, all bool) {
	if v.Kind == expand.Associative {
		key, ok := "", false
		if word, is := index.(*syntax.Word); is {
			key, ok = x.one(word), true
		}
		if !ok || HasUnknown(key) {
			return 0, false
		}
		if v.Map == nil {
			v.Map = map[string]string{}
		}
		v.Map[key] = value
		return 0, known
	}
	if x.arithmUnknown(index) || unsetName(x.state, index) {
		return 0, false
	}
	at, err := expand.Arithm(x.config(), index)
	if err != nil || at < 0 || at > maxIndex {
		return 0, false
	}
	return at + 1, setElement(v, at, value) && known
}

// unsetName says whether an index is the name of a variable that isn't set: of an array that was declared elsewhere, it may be
// a key.
func unsetName(st *state, index syntax.ArithmExpr) bool {
	word, ok := index.(*syntax.Word)
	return ok && syntax.ValidName(word.Lit()) && !st.Get(word.Lit()).IsSet()
}

// setElement sets an element of an indexed array. It says whether the array is as it was but for that.
func setElement(v *expand.Variable, at int, value string) bool {
	if v.Kind != expand.Indexed {
		return false
	}
	if v.Indexes == nil && at != len(v.List) {
		for i := range v.List {
			v.Indexes = append(v.Indexes, i)
		}
		if v.Indexes == nil {
			v.Indexes = []int{}
		}
	}
	if v.Indexes == nil {
		v.List = append(v.List, value)
		return true
	}
	place, found := slices.BinarySearch(v.Indexes, at)
	if found {
		v.List[place] = value
		return true
	}
	v.List, v.Indexes = slices.Insert(v.List, place, value), slices.Insert(v.Indexes, place, at)
	return true
}

// setArray sets a variable to an array, as far as it is known and not too long.
func (in *Interpreter) setArray(st *state, name string, v expand.Variable, known bool) {
	size := 0
	for _, item := range v.List {
		size += len(item) + 1
	}
	for key, item := range v.Map {
		size += len(key) + len(item) + 1
	}
	if in.work += size; !known || size > maxValue {
		st.setList(name, []string{Unknown})
		return
	}
	set(in, &st.vars, name, v)
}

// setIndexed sets one element of an array.
func (in *Interpreter) setIndexed(a *syntax.Assign, st *state, x *expansion) {
	before := st.Get(a.Name.Value)
	value := x.assigned(a.Value)
	v := expand.Variable{Set: true, Kind: before.Kind, List: slices.Clone(before.List), Indexes: slices.Clone(before.Indexes), Map: maps.Clone(before.Map)}
	known := !a.Append && !slices.Contains(before.List, Unknown)
	if before.Kind != expand.Associative {
		if v.Kind = expand.Indexed; before.Kind == expand.String && before.IsSet() {
			v.List = []string{before.Str}
		}
	}
	_, known = x.element(&v, a.Index, value, known)
	in.setArray(st, a.Name.Value, v, known)
}

// single says whether an index names one element and not all of them.
func single(index syntax.ArithmExpr) bool {
	word, ok := index.(*syntax.Word)
	return !ok || word.Lit() != "@" && word.Lit() != "*"
}

// shifted says whether it isn't known which elements of a variable have which indexes.
func shifted(v expand.Variable) bool {
	if v.Kind == expand.String {
		return HasUnknown(v.Str)
	}
	return slices.ContainsFunc(v.List, func(item string) bool { return strings.Contains(item, Unknown) })
}

// either sets a variable that is one or the other. Of two lists that begin with the same word, that is known.
func (s *state) either(name string, a, b expand.Variable) {
	if a.Kind == expand.Indexed && b.Kind == expand.Indexed && len(a.List) > 0 && len(b.List) > 0 && a.List[0] == b.List[0] {
		s.setList(name, []string{a.List[0], Unknown})
		return
	}
	s.set(name, Unknown)
}
