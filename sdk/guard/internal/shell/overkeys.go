package shell

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// keysOf are the keys of an associative array that a loop goes over, or its values: for x in "${!m[@]}". There are none if that isn't all
// that the loop goes over, or if they aren't known.
func keysOf(loop *syntax.WordIter, st *state) []string {
	if len(loop.Items) != 1 || len(loop.Items[0].Parts) != 1 {
		return nil
	}
	quoted, ok := loop.Items[0].Parts[0].(*syntax.DblQuoted)
	if !ok || len(quoted.Parts) != 1 {
		return nil
	}
	p, ok := quoted.Parts[0].(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Index == nil || p.Length || p.Width || p.Slice != nil || p.Repl != nil || p.Exp != nil || p.Names != 0 {
		return nil
	}
	word, ok := p.Index.(*syntax.Word)
	if !ok || word.Lit() != "@" {
		return nil
	}
	v := st.Get(p.Param.Value)
	if v.Kind != expand.Associative || len(v.Map) > maxLines || HasUnknown(content(v)) {
		return nil
	}
	keys := slices.Sorted(maps.Keys(v.Map))
	if slices.ContainsFunc(keys, HasUnknown) {
		return nil
	}
	if !p.Excl {
		keys = slices.Sorted(maps.Values(v.Map))
	}
	return keys
}

// overKeys follows a loop over what has an order of the shell's own: any of it in each round.
func (in *Interpreter) overKeys(c *syntax.ForClause, name string, keys []string, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	ways, printed := in.repeated(place, st, func(s *state) (next []*state, out Stream) {
		for _, key := range keys {
			round := s.clone()
			round.set(name, key)
			after, _, prints := in.body(c.Do, round, stdin)
			next, out = append(next, after...), out.then(prints)
		}
		return next, out
	})
	return join(ways...), Stream{Piped: true, From: From("a loop")}.then(printed)
}
