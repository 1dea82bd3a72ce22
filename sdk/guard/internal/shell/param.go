package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// markParamIfUnknown replaces a parameter expansion of unknown value by a mark. Package expand later evaluates known
// ones.
func (x *wordExpander) markParamIfUnknown(p *syntax.ParamExp, quoted bool) []syntax.WordPart {
	unknown := &syntax.Lit{Value: Unknown}
	if p.Param == nil || p.Names != 0 || p.Width || p.IsSet || p.Flags != nil || len(p.Modifiers) > 0 {
		return []syntax.WordPart{unknown}
	}
	if p.Index != nil && (x.interpretArithmetic(p.Index) || p.Param.Value == "BASH_REMATCH" ||
		HasUnknown(strings.Join(x.state.Get(p.Param.Value).List, ""))) {
		return []syntax.WordPart{unknown}
	}
	variable := x.state.Get(p.Param.Value)
	x.unknownFrom = mergeCommandNames(x.unknownFrom, x.state.unknownFrom[p.Param.Value])
	if p.Excl {
		if HasUnknown(variable.String()) || !variable.IsSet() {
			return []syntax.WordPart{unknown}
		}
		variable = x.state.Get(variable.String())
	}
	value := variable.String() + strings.Join(variable.List, "")
	isPlain := p.Exp == nil && p.Repl == nil && p.Slice == nil && !p.Length
	switch {
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps:
		// ${x@P} expands x once more, substitutions included.
		x.in.interpretNestedSubstitutions(x.place, value, x.state)
		return []syntax.WordPart{unknown}
	case !variable.IsSet():
		return x.expandUnsetVar(p, isPlain, quoted)
	case !x.in.countExpandedBytes(x.expansionCost(p, len(value), isPlain), x.place):
		return []syntax.WordPart{unknown}
	case p.Repl != nil && isUnsupportedReplacement(p.Repl.Orig):
		x.interpretSubstitutions(p)
		return []syntax.WordPart{unknown}
	case HasUnknown(value) && !isPlain:
		x.interpretSubstitutions(p)
		return []syntax.WordPart{unknown}
	}
	if p.Exp != nil && p.Exp.Word != nil && yieldsWord(p.Exp.Op, true, value == "") {
		return x.inlineWordParts(p, quoted)
	}
	return []syntax.WordPart{x.markUnknownInParam(p)}
}

// expansionCost returns the cost of an expansion in bytes. Patterns with several stars cost more.
func (x *wordExpander) expansionCost(p *syntax.ParamExp, length int, plain bool) int {
	if plain {
		return length
	}
	stars := strings.Count(x.in.nodeText(p), "*")
	return length * 8 * (1 + stars*stars/starDivisor)
}

// isUnsupportedReplacement reports whether package expand does not support a replacement pattern: one anchored at an
// end of the value, or an extended pattern.
func isUnsupportedReplacement(pattern *syntax.Word) bool {
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

// yieldsWord reports whether an expansion such as ${x:-word} results in its word.
func yieldsWord(op syntax.ParExpOperator, set, null bool) bool {
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

// inlineWordParts returns the parts of an expansion's word. It keeps their quotes, which package expand would lose.
func (x *wordExpander) inlineWordParts(p *syntax.ParamExp, quoted bool) []syntax.WordPart {
	if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
		x.state.setVar(p.Param.Value, x.expandWordUnsplit(p.Exp.Word), x.unknownFrom)
		return []syntax.WordPart{&syntax.ParamExp{Param: p.Param, Short: true}}
	}
	var out []syntax.WordPart
	for i, part := range p.Exp.Word.Parts {
		switch w := part.(type) {
		case *syntax.SglQuoted:
			if quoted && !w.Dollar {
				// Between double quotes a single one is a letter, and what it holds is expanded.
				if strings.ContainsAny(w.Value, "$`") {
					x.in.interpretSubshell(x.state, x.place, func(child *shellState) StreamContent {
						return x.in.interpretCode(x.place, `: "`+w.Value+`"`, nil, child, StreamContent{})
					})
				}
				part = &syntax.Lit{Value: "'" + escapeDoubleQuoted(w.Value) + "'"}
			}
		case *syntax.Lit:
			if rest, ok := strings.CutPrefix(w.Value, "~/"); ok && i == 0 && !quoted {
				out = append(out, &syntax.SglQuoted{Value: x.state.Get("HOME").String()})
				part = &syntax.Lit{Value: "/" + rest}
			}
		}
		out = append(out, x.markUnknownInPart(part, quoted)...)
	}
	return out
}

// escapeDoubleQuoted escapes the characters that are special between double quotes.
func escapeDoubleQuoted(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s)
}

// expandUnsetVar expands a variable that the text does not set. The environment may set it.
func (x *wordExpander) expandUnsetVar(p *syntax.ParamExp, plain, quoted bool) []syntax.WordPart {
	switch {
	case p.Param.Value == "@" || p.Param.Value == "*":
		return []syntax.WordPart{p}
	case p.Exp != nil && p.Exp.Word != nil && yieldsWord(p.Exp.Op, false, true):
		return x.inlineWordParts(p, quoted)
	case p.Exp != nil:
		switch p.Exp.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
			syntax.AssignUnset, syntax.AssignUnsetOrNull:
			return []syntax.WordPart{x.markUnknownInParam(p)}
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
			x.interpretSubstitutions(p)
			return []syntax.WordPart{&syntax.Lit{Value: Unknown}}
		}
	case p.Length:
		return []syntax.WordPart{&syntax.Lit{Value: Unknown}}
	}
	if !plain {
		x.interpretSubstitutions(p)
	}
	return []syntax.WordPart{&syntax.Lit{Value: Unset}}
}

// markUnknownInParam returns a copy of p with marks for the unknown parts of its words.
func (x *wordExpander) markUnknownInParam(p *syntax.ParamExp) syntax.WordPart {
	c := *p
	if p.Exp != nil && p.Exp.Word != nil {
		c.Exp = &syntax.Expansion{Op: p.Exp.Op, Word: x.markUnknownInWord(p.Exp.Word)}
	}
	if p.Repl != nil {
		c.Repl = &syntax.Replace{All: p.Repl.All}
		if p.Repl.Orig != nil {
			c.Repl.Orig = x.markUnknownInWord(p.Repl.Orig)
		}
		if p.Repl.With != nil {
			c.Repl.With = x.unescapeAndExpandTilde(x.markUnknownInWord(p.Repl.With))
		}
	}
	return &c
}

// interpretSubstitutions interprets the command substitutions in a node and discards their output.
func (x *wordExpander) interpretSubstitutions(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			x.in.interpretSubshell(x.state, x.place, func(child *shellState) StreamContent { return x.in.interpretStmts(n.Stmts, child, StreamContent{}) })
			return false
		case *syntax.ProcSubst:
			x.in.interpretSubshell(x.state, x.place, func(child *shellState) StreamContent { return x.in.interpretStmts(n.Stmts, child, StreamContent{}) })
			return false
		}
		return true
	})
}
