package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param decides how far a parameter expansion is known. What is, is left to package expand.
func (x *expansion) param(p *syntax.ParamExp, quoted bool) []syntax.WordPart {
	unknown := &syntax.Lit{Value: Unknown}
	if p.Param == nil || p.Names != 0 || p.Width || p.IsSet || p.Flags != nil || len(p.Modifiers) > 0 {
		return []syntax.WordPart{unknown}
	}
	if p.Index != nil && (x.arithmUnknown(p.Index) || p.Param.Value == "BASH_REMATCH" ||
		HasUnknown(strings.Join(x.state.Get(p.Param.Value).List, ""))) {
		return []syntax.WordPart{unknown}
	}
	v := x.state.Get(p.Param.Value)
	x.from = from(x.from, x.state.made[p.Param.Value])
	if p.Excl {
		if HasUnknown(v.String()) || !v.IsSet() {
			return []syntax.WordPart{unknown}
		}
		v = x.state.Get(v.String())
	}
	value := v.String() + strings.Join(v.List, "")
	plain := p.Exp == nil && p.Repl == nil && p.Slice == nil && !p.Length
	switch {
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps:
		// ${x@P} expands x once more, substitutions included.
		x.in.evaluated(x.place, value, x.state)
		return []syntax.WordPart{unknown}
	case !v.IsSet():
		return x.paramUnset(p, plain, quoted)
	case !x.in.spend(x.cost(p, len(value), plain), x.place):
		return []syntax.WordPart{unknown}
	case p.Repl != nil && anchored(p.Repl.Orig):
		x.substitutions(p)
		return []syntax.WordPart{unknown}
	case HasUnknown(value) && !plain:
		x.substitutions(p)
		return []syntax.WordPart{unknown}
	}
	if p.Exp != nil && p.Exp.Word != nil && instead(p.Exp.Op, true, value == "") {
		return x.inline(p, quoted)
	}
	return []syntax.WordPart{x.paramRewritten(p)}
}

// cost is what an expansion of a value counts for. Matching a pattern takes longer the more stars it has.
func (x *expansion) cost(p *syntax.ParamExp, length int, plain bool) int {
	if plain {
		return length
	}
	stars := strings.Count(x.in.raw(p), "*")
	return length * 8 * (1 + stars*stars/maxStars)
}

// anchored reports whether a replacement is one that package expand doesn't know: its pattern counts only at one end,
// or is an extended one.
func anchored(pattern *syntax.Word) bool {
	if pattern == nil || len(pattern.Parts) == 0 {
		return false
	}
	if slices.ContainsFunc(pattern.Parts, func(p syntax.WordPart) bool {
		lit, ok := p.(*syntax.Lit)
		_, extended := p.(*syntax.ExtGlob)
		return extended || ok && strings.Contains(lit.Value, "(")
	}) {
		return true
	}
	lit, ok := pattern.Parts[0].(*syntax.Lit)
	return ok && lit.Value != "" && strings.IndexByte("#%", lit.Value[0]) >= 0
}

// instead reports whether an expansion such as ${x:-word} is its word.
func instead(op syntax.ParExpOperator, set, null bool) bool {
	switch op {
	case syntax.DefaultUnset, syntax.AssignUnset:
		return !set
	case syntax.DefaultUnsetOrNull, syntax.AssignUnsetOrNull:
		return !set || null
	case syntax.AlternateUnset:
		return set
	case syntax.AlternateUnsetOrNull:
		return set && !null
	}
	return false
}

// inline puts the word of an expansion in its place, with its own quotes, which package expand would lose.
func (x *expansion) inline(p *syntax.ParamExp, quoted bool) []syntax.WordPart {
	if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
		x.state.set(p.Param.Value, x.one(p.Exp.Word), x.from)
		return []syntax.WordPart{&syntax.ParamExp{Param: p.Param, Short: true}}
	}
	var out []syntax.WordPart
	for i, part := range p.Exp.Word.Parts {
		switch w := part.(type) {
		case *syntax.SglQuoted:
			if quoted && !w.Dollar {
				// Between double quotes a single one is a letter, and what it holds is expanded.
				if strings.ContainsAny(w.Value, "$`") {
					x.in.child(x.state, x.place, func(child *state) Stream {
						return x.in.code(x.place, `: "`+w.Value+`"`, nil, child, Stream{})
					})
				}
				part = &syntax.Lit{Value: "'" + escaped(w.Value) + "'"}
			}
		case *syntax.Lit:
			if rest, ok := strings.CutPrefix(w.Value, "~/"); ok && i == 0 && !quoted {
				out = append(out, &syntax.SglQuoted{Value: x.state.Get("HOME").String()})
				part = &syntax.Lit{Value: "/" + rest}
			}
		}
		out = append(out, x.part(part, quoted)...)
	}
	return out
}

// escaped is a text whose characters all mean themselves between double quotes.
func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s)
}

// paramUnset is the expansion of a variable that nothing in the text has set. The environment may have it.
func (x *expansion) paramUnset(p *syntax.ParamExp, plain, quoted bool) []syntax.WordPart {
	switch {
	case p.Param.Value == "@" || p.Param.Value == "*":
		return []syntax.WordPart{p}
	case p.Exp != nil && p.Exp.Word != nil && instead(p.Exp.Op, false, true):
		return x.inline(p, quoted)
	case p.Exp != nil:
		switch p.Exp.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
			syntax.AssignUnset, syntax.AssignUnsetOrNull:
			return []syntax.WordPart{x.paramRewritten(p)}
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
			x.substitutions(p)
			return []syntax.WordPart{&syntax.Lit{Value: Unknown}}
		}
	case p.Length:
		return []syntax.WordPart{&syntax.Lit{Value: Unknown}}
	}
	if !plain {
		x.substitutions(p)
	}
	return []syntax.WordPart{&syntax.Lit{Value: Unset}}
}

// paramRewritten is p with the words inside it rewritten too.
func (x *expansion) paramRewritten(p *syntax.ParamExp) syntax.WordPart {
	c := *p
	if p.Exp != nil && p.Exp.Word != nil {
		c.Exp = &syntax.Expansion{Op: p.Exp.Op, Word: x.rewrite(p.Exp.Word)}
	}
	if p.Repl != nil {
		c.Repl = &syntax.Replace{All: p.Repl.All}
		if p.Repl.Orig != nil {
			c.Repl.Orig = x.rewrite(p.Repl.Orig)
		}
		if p.Repl.With != nil {
			c.Repl.With = x.unescape(x.rewrite(p.Repl.With))
		}
	}
	return &c
}

// substitutions interprets the command substitutions inside a node whose value doesn't matter.
func (x *expansion) substitutions(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			x.in.child(x.state, x.place, func(child *state) Stream { return x.in.stmts(n.Stmts, child, Stream{}) })
			return false
		case *syntax.ProcSubst:
			x.in.child(x.state, x.place, func(child *state) Stream { return x.in.stmts(n.Stmts, child, Stream{}) })
			return false
		}
		return true
	})
}
