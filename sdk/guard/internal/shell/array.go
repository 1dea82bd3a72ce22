package shell

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// array is an array on its way to another value.
type array struct {
	list    []string
	at      []int             // the indexes of list, ascending
	keys    map[string]string // instead of these, of an associative one; else nil
	next    int               // where the next element without an index goes
	tail    bool              // what comes after the first one isn't known
	unknown bool              // which elements there are isn't known
}

// arrayOf is the array that a variable is, or that it becomes when an element of it is set.
func arrayOf(v expand.Variable) *array {
	a := &array{}
	switch v.Kind {
	case expand.Associative:
		a.keys = maps.Clone(v.Map)
	case expand.Indexed:
		a.list, a.at = slices.Clone(v.List), slices.Clone(v.Indexes)
		for i := len(a.at); i < len(a.list); i++ {
			a.at = append(a.at, i)
		}
	case expand.String:
		a.list, a.at = []string{v.Str}, []int{0}
	}
	if len(a.at) > 0 {
		a.next = a.at[len(a.at)-1] + 1
	}
	a.tail = slices.Contains(a.list, Unknown)
	return a
}

// put sets the element of an index, or adds to its end.
func (a *array) put(index int, value string, more bool) {
	if a.tail && index != 0 {
		a.unknown = a.unknown || index < 0
		return // that isn't known as it is
	}
	if index < 0 {
		if len(a.at) == 0 {
			return // an error of the shell
		}
		if index += a.at[len(a.at)-1] + 1; index < 0 {
			return
		}
	}
	at, there := slices.BinarySearch(a.at, index)
	switch {
	case !there:
		a.list, a.at = slices.Insert(a.list, at, value), slices.Insert(a.at, at, index)
	case more:
		a.list[at] += value
	default:
		a.list[at] = value
	}
	a.next = index + 1
}

// element sets the element that an expression names, or adds to its end.
func (x *expansion) element(a *array, index syntax.ArithmExpr, value string, more bool) {
	x.in.work += (len(a.list) + len(a.keys)) * perWord
	if a.keys != nil {
		word, ok := index.(*syntax.Word)
		if !ok {
			a.unknown = true
			return
		}
		key := x.one(word)
		if more {
			value = a.keys[key] + value
		}
		a.keys[key] = value
		a.unknown = a.unknown || HasUnknown(key) || HasUnknown(value)
		return
	}
	if x.arithmUnknown(index) || unsetName(x.state, index) || x.in.work > maxWork {
		a.unknown = true
		return
	}
	n, err := expand.Arithm(x.config(), index)
	if err != nil {
		a.unknown = true
		return
	}
	a.put(n, value, more)
}

// unsetName says whether an index is the name of a variable that isn't set: of an array that was declared elsewhere, it may be
// a key.
func unsetName(st *state, index syntax.ArithmExpr) bool {
	word, ok := index.(*syntax.Word)
	return ok && syntax.ValidName(word.Lit()) && !st.Get(word.Lit()).IsSet()
}

// either makes a variable one or the other. Of two lists that begin with the same word, that is known.
func (s *state) either(name string, a, b expand.Variable) {
	if a.Kind == expand.Indexed && b.Kind == expand.Indexed && len(a.List) > 0 && len(b.List) > 0 && a.List[0] == b.List[0] {
		s.setList(name, []string{a.List[0], Unknown})
		return
	}
	s.changed(name, "")
	value := eitherOf(a.String())
	switch {
	case name == "IFS":
		value = eitherSeparators(a, b)
	case value == Unknown:
		value = eitherOf(b.String())
	}
	set(s.in, &s.vars, name, expand.Variable{Set: true, Kind: expand.String, Str: value})
}

// eitherOf stands for a text that may be another one: as a path, one that leads up counts.
func eitherOf(text string) string {
	if len(text) >= 2 && strings.Contains("/"+text+"/", "/../") {
		return Unknown + "/.."
	}
	return Unknown
}

// setFirst assigns a text to a variable that is an array, which sets one element of it.
func (s *state) setFirst(name string, v expand.Variable, value string) {
	a := arrayOf(v)
	if a.keys != nil {
		a.keys["0"] = value
		a.unknown = HasUnknown(value)
	} else {
		a.put(0, value, false)
	}
	s.setArray(name, a)
}

// setArray makes a variable an array.
func (s *state) setArray(name string, a *array) {
	if s.changed(name, strings.Join(a.list, " ")) {
		a.unknown = true
	}
	size := 0
	for _, item := range a.list {
		size += len(item) + 1
	}
	for key, item := range a.keys {
		size += len(key) + len(item) + 1
	}
	v := expand.Variable{Set: true, Kind: expand.Indexed, List: a.list, Indexes: a.at}
	switch {
	case a.unknown || size > maxValue || a.tail && a.list[0] == Unknown:
		v.List, v.Indexes = []string{Unknown}, nil
	case a.tail:
		v.List, v.Indexes = []string{a.list[0], Unknown}, nil
	case a.keys != nil:
		v = expand.Variable{Set: true, Kind: expand.Associative, Map: a.keys}
	}
	set(s.in, &s.vars, name, v)
}

// array sets a whole array.
func (in *Interpreter) array(a *syntax.Assign, st *state, x *expansion) {
	before := st.Get(a.Name.Value)
	to := &array{}
	if a.Append {
		to = arrayOf(before)
	} else if before.Kind == expand.Associative {
		to.keys = map[string]string{}
	}
	for _, elem := range a.Array.Elems {
		switch {
		case elem.Index != nil:
			x.element(to, elem.Index, x.assigned(elem.Value), false)
		case to.keys != nil:
			to.unknown = true // keys and values in turn, or an error, by version
		default:
			for _, f := range x.fields([]*syntax.Word{elem.Value}) {
				to.put(to.next, f.Text, false)
			}
		}
	}
	st.setArray(a.Name.Value, to)
}

// associative makes a variable an associative array, as a declaration of it does.
func (s *state) associative(name string) {
	if v := s.Get(name); v.Kind != expand.Associative && !HasUnknown(content(v)) {
		elements := map[string]string{}
		if v.Kind == expand.String && v.Set {
			elements["0"] = v.Str
		}
		set(s.in, &s.vars, name, expand.Variable{Set: true, Kind: expand.Associative, Map: elements})
	}
}

// content is all that a variable holds.
func content(v expand.Variable) string {
	switch v.Kind {
	case expand.Indexed:
		return strings.Join(v.List, "")
	case expand.Associative:
		return strings.Join(slices.Sorted(maps.Values(v.Map)), "")
	}
	return v.Str
}

// every says whether an index is that of all elements.
func every(index syntax.ArithmExpr) bool {
	word, ok := index.(*syntax.Word)
	return ok && (word.Lit() == "@" || word.Lit() == "*")
}

// elementUnknown says whether the element of an index isn't known: in an array with parts that aren't known, any may be anywhere.
func (x *expansion) elementUnknown(v expand.Variable, index syntax.ArithmExpr) bool {
	switch all := every(index); v.Kind {
	case expand.Associative:
		word, ok := index.(*syntax.Word)
		return !ok || all && len(v.Map) > 1 || !all && HasUnknown(x.one(word)) // the order is the shell's own
	case expand.Indexed:
		return !all && HasUnknown(content(v))
	}
	return HasUnknown(v.Str)
}
