package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// expandParam replaces the unknown parts of a parameter expansion. Package expand evaluates the known ones.
func (x *expansion) expandParam(p *syntax.ParamExp, quoted bool) []syntax.WordPart {
	unknown := &syntax.Lit{Value: Unknown}
	if p.Param == nil || p.Names != 0 || p.Width || p.IsSet || p.Flags != nil || len(p.Modifiers) > 0 {
		return []syntax.WordPart{unknown}
	}
	if p.Index != nil && (x.isArithmUnknown(p.Index) || p.Param.Value == "BASH_REMATCH" ||
		HasUnknown(strings.Join(x.state.Get(p.Param.Value).List, ""))) {
		return []syntax.WordPart{unknown}
	}
	variable := x.state.Get(p.Param.Value)
	x.unknownFrom = mergeNames(x.unknownFrom, x.state.unknownFrom[p.Param.Value])
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
		x.in.interpretEvaluated(x.place, value, x.state)
		return []syntax.WordPart{unknown}
	case !variable.IsSet():
		return x.expandUnset(p, isPlain, quoted)
	case !x.in.spendBytes(x.expansionCost(p, len(value), isPlain), x.place):
		return []syntax.WordPart{unknown}
	case p.Repl != nil && isUnsupportedReplacement(p.Repl.Orig):
		x.interpretSubstitutions(p)
		return []syntax.WordPart{unknown}
	case HasUnknown(value) && !isPlain:
		x.interpretSubstitutions(p)
		return []syntax.WordPart{unknown}
	}
	if p.Exp != nil && p.Exp.Word != nil && usesWord(p.Exp.Op, true, value == "") {
		return x.inlineWord(p, quoted)
	}
	return []syntax.WordPart{x.rewriteParam(p)}
}

// expansionCost returns the cost of an expansion in bytes. A pattern with more stars takes longer to match.
func (x *expansion) expansionCost(p *syntax.ParamExp, length int, plain bool) int {
	if plain {
		return length
	}
	stars := strings.Count(x.in.nodeText(p), "*")
	return length * 8 * (1 + stars*stars/starDivisor)
}

// isUnsupportedReplacement reports whether package expand lacks a replacement pattern: one that matches only at one
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

// usesWord reports whether an expansion such as ${x:-word} yields its word.
func usesWord(op syntax.ParExpOperator, set, null bool) bool {
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

// inlineWord returns the parts of an expansion's word with their quotes, which package expand would lose.
func (x *expansion) inlineWord(p *syntax.ParamExp, quoted bool) []syntax.WordPart {
	if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
		x.state.setVar(p.Param.Value, x.expandWord(p.Exp.Word), x.unknownFrom)
		return []syntax.WordPart{&syntax.ParamExp{Param: p.Param, Short: true}}
	}
	var out []syntax.WordPart
	for i, part := range p.Exp.Word.Parts {
		switch w := part.(type) {
		case *syntax.SglQuoted:
			if quoted && !w.Dollar {
				// Between double quotes a single one is a letter, and what it holds is expanded.
				if strings.ContainsAny(w.Value, "$`") {
					x.in.interpretSubshell(x.state, x.place, func(child *state) Stream {
						return x.in.interpretCode(x.place, `: "`+w.Value+`"`, nil, child, Stream{})
					})
				}
				part = &syntax.Lit{Value: "'" + escapeQuoted(w.Value) + "'"}
			}
		case *syntax.Lit:
			if rest, ok := strings.CutPrefix(w.Value, "~/"); ok && i == 0 && !quoted {
				out = append(out, &syntax.SglQuoted{Value: x.state.Get("HOME").String()})
				part = &syntax.Lit{Value: "/" + rest}
			}
		}
		out = append(out, x.rewritePart(part, quoted)...)
	}
	return out
}

// escapeQuoted escapes all characters that are special between double quotes.
func escapeQuoted(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s)
}

// expandUnset expands a variable that the text doesn't set. The environment may set it.
func (x *expansion) expandUnset(p *syntax.ParamExp, plain, quoted bool) []syntax.WordPart {
	switch {
	case p.Param.Value == "@" || p.Param.Value == "*":
		return []syntax.WordPart{p}
	case p.Exp != nil && p.Exp.Word != nil && usesWord(p.Exp.Op, false, true):
		return x.inlineWord(p, quoted)
	case p.Exp != nil:
		switch p.Exp.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
			syntax.AssignUnset, syntax.AssignUnsetOrNull:
			return []syntax.WordPart{x.rewriteParam(p)}
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

// rewriteParam returns p with its words rewritten.
func (x *expansion) rewriteParam(p *syntax.ParamExp) syntax.WordPart {
	c := *p
	if p.Exp != nil && p.Exp.Word != nil {
		c.Exp = &syntax.Expansion{Op: p.Exp.Op, Word: x.rewriteWord(p.Exp.Word)}
	}
	if p.Repl != nil {
		c.Repl = &syntax.Replace{All: p.Repl.All}
		if p.Repl.Orig != nil {
			c.Repl.Orig = x.rewriteWord(p.Repl.Orig)
		}
		if p.Repl.With != nil {
			c.Repl.With = x.unescapeWord(x.rewriteWord(p.Repl.With))
		}
	}
	return &c
}

// interpretSubstitutions interprets the command substitutions in a node and ignores their output.
func (x *expansion) interpretSubstitutions(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			x.in.interpretSubshell(x.state, x.place, func(child *state) Stream { return x.in.interpretStmts(n.Stmts, child, Stream{}) })
			return false
		case *syntax.ProcSubst:
			x.in.interpretSubshell(x.state, x.place, func(child *state) Stream { return x.in.interpretStmts(n.Stmts, child, Stream{}) })
			return false
		}
		return true
	})
}
