package shell

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// param decides how far a parameter expansion is known. What is, is left to package expand.
func (x *expansion) param(p *syntax.ParamExp, quoted bool) []syntax.WordPart {
	unknown := &syntax.Lit{Value: Unknown}
	if p.Param == nil || p.Names != 0 || p.Width || p.IsSet || p.Flags != nil || len(p.Modifiers) > 0 {
		return []syntax.WordPart{unknown}
	}
	if quoted && p.Exp != nil && p.Exp.Word != nil && p.Exp.Op <= syntax.AssignUnsetOrNull {
		p = x.quotesKept(p)
	}
	v := x.state.Get(p.Param.Value)
	if p.Index != nil && (v.Kind != expand.Associative && x.arithmUnknown(p.Index) || x.elementUnknown(v, p.Index)) {
		return []syntax.WordPart{unknown}
	}
	if p.Excl && p.Index != nil && every(p.Index) {
		if HasUnknown(content(v)) {
			return []syntax.WordPart{unknown}
		}
		return []syntax.WordPart{p} // its indexes
	}
	if p.Excl {
		if HasUnknown(v.String()) || !v.IsSet() {
			return []syntax.WordPart{unknown}
		}
		x.in.named(x.place, v.String())
		if v = x.state.Get(v.String()); v.Kind == expand.Associative && p.Index == nil {
			return []syntax.WordPart{asItStands(v.Map["0"])} // as bash takes it, and package expand doesn't
		}
	}
	if p.Slice != nil && (x.arithmUnknown(p.Slice.Offset) || x.arithmUnknown(p.Slice.Length)) {
		return []syntax.WordPart{unknown}
	}
	value := content(v)
	plain := p.Exp == nil && p.Repl == nil && p.Slice == nil && !p.Length
	if !plain && value != "" {
		// Patterns are matched at every place of the value.
		if x.in.work += len(value) * (perWord + int(p.End().Offset()-p.Pos().Offset())); x.in.work > maxWork {
			return []syntax.WordPart{unknown}
		}
	}
	switch {
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps:
		// ${x@P} expands x once more, substitutions included.
		if strings.ContainsAny(value, "`$") {
			x.in.problem(x.place, Dynamic, "${…@P} would run the commands in the variable's value")
		}
		if p.Index != nil && every(p.Index) && len(v.List) > 1 {
			return []syntax.WordPart{unknown} // each by itself
		}
		return []syntax.WordPart{transformed(p.Exp.Word.Lit(), value)}
	case !v.IsSet():
		return x.paramUnset(p, plain, quoted)
	case p.Repl != nil && (anchored(p.Repl.Orig) || extended(p.Repl.Orig)), p.Exp != nil && extended(p.Exp.Word):
		x.substitutions(p)
		return []syntax.WordPart{unknown}
	case p.Param.Value == "OLDPWD" && value == "/"+Unknown && p.Exp != nil && p.Exp.Word != nil && instead(p.Exp.Op, false, true):
		return x.inline(p, quoted) // a new shell has none
	case p.Repl != nil && (x.in.nocase || x.repeats(p.Repl.With)):
		x.substitutions(p)
		return []syntax.WordPart{unknown}
	case HasUnknown(value) && !plain:
		x.substitutions(p)
		return []syntax.WordPart{unknown}
	}
	if p.Exp != nil && p.Exp.Word != nil && instead(p.Exp.Op, true, value == "") {
		return x.inline(p, quoted)
	}
	if separators, known := x.state.separators(); !known && (quoted && joined(p) && len(v.List) > 1 || !quoted && splits(value, separators)) {
		return []syntax.WordPart{unknown}
	}
	if separators, _ := x.state.separators(); x.in.mayBeOther() && p.Param.Value == "@" && len(v.List) > 1 && !strings.HasPrefix(separators, " ") {
		return []syntax.WordPart{unknown} // dash joins them by a separator in assignments, bash by a blank
	}
	if marks := x.state.marked(); !quoted && !evenly(p, v, marks) || quoted && marks != "" && p.Repl != nil && every(p.Index) { // joined by a mark in assignments
		x.substitutions(p)
		return []syntax.WordPart{unknown}
	}
	return []syntax.WordPart{x.paramRewritten(p)}
}

// asItStands is a value that is one word without anything in it that the shell expands; not known if it is another one.
func asItStands(value string) syntax.WordPart {
	if value == "" || strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:=%") != "" {
		value = Unknown
	}
	return &syntax.Lit{Value: value}
}

// transformed is what ${x@operator} makes of a value.
func transformed(operator, value string) syntax.WordPart {
	switch operator {
	case "L":
		value = strings.ToLower(value)
	case "U":
		value = strings.ToUpper(value)
	case "P", "E", "Q", "K", "k":
	default:
		value = ""
	}
	return asItStands(value)
}

// quotesKept is an expansion between double quotes, such as "${x:-'word'}": single quotes are letters there, and what stands between them
// is expanded.
func (x *expansion) quotesKept(p *syntax.ParamExp) *syntax.ParamExp {
	var parts []syntax.WordPart
	for _, part := range p.Exp.Word.Parts {
		quotes, ok := part.(*syntax.SglQuoted)
		if !ok {
			parts = append(parts, part)
			continue
		}
		open := "'"
		if quotes.Dollar {
			open = `\$'`
		}
		document, err := x.in.parser.Document(strings.NewReader(quotes.Value))
		if err != nil {
			parts = append(parts, &syntax.Lit{Value: Unknown})
			continue
		}
		parts = append(parts, &syntax.Lit{Value: open})
		if document != nil { // it is of nothing at all
			parts = append(parts, document.Parts...)
		}
		parts = append(parts, &syntax.Lit{Value: "'"})
	}
	c, exp := *p, *p.Exp
	exp.Word = &syntax.Word{Parts: parts}
	c.Exp = &exp
	return &c
}

// anchored says whether the pattern of a replacement counts only at one end, which package expand doesn't know.
func anchored(pattern *syntax.Word) bool {
	if pattern == nil || len(pattern.Parts) == 0 {
		return false
	}
	lit, ok := pattern.Parts[0].(*syntax.Lit)
	return ok && lit.Value != "" && strings.IndexByte("#%", lit.Value[0]) >= 0
}

// extended says whether a word may be an extended pattern, such as +(a), which package expand doesn't know.
func extended(pattern *syntax.Word) bool {
	if pattern == nil {
		return false
	}
	found := false
	syntax.Walk(pattern, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ExtGlob:
			found = true
		case *syntax.Lit:
			at := strings.IndexByte(n.Value, '(')
			found = found || at > 0 && strings.IndexByte("?*+@!", n.Value[at-1]) >= 0
		}
		return !found
	})
	return found
}

// instead says whether an expansion such as ${x:-word} is its word.
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
		value := x.one(p.Exp.Word)
		x.state.set(p.Param.Value, value)
		return []syntax.WordPart{&syntax.ParamExp{Param: p.Param, Short: true}}
	}
	var out []syntax.WordPart
	marks := x.state.marked()
	for i, part := range p.Exp.Word.Parts {
		if lit, ok := part.(*syntax.Lit); ok && i == 0 && !quoted {
			if rest, ok := strings.CutPrefix(lit.Value, "~/"); ok {
				out = append(out, &syntax.SglQuoted{Value: x.state.Get("HOME").String()})
				part = &syntax.Lit{Value: "/" + rest}
			}
		}
		if lit, ok := part.(*syntax.Lit); ok && !quoted && strings.ContainsAny(lit.Value, marks) {
			part = &syntax.Lit{Value: Unknown} // package expand doesn't split it
		}
		out = append(out, x.part(part, quoted)...)
	}
	return out
}

// paramUnset is the expansion of a variable that nothing in the text has set. The environment may have it.
func (x *expansion) paramUnset(p *syntax.ParamExp, plain, quoted bool) []syntax.WordPart {
	switch {
	case p.Param.Value == "@" || p.Param.Value == "*":
		return []syntax.WordPart{p}
	case p.Exp != nil && p.Exp.Word != nil && (instead(p.Exp.Op, false, true) || elsewhere(p.Param.Value) && instead(p.Exp.Op, true, false)):
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

// elsewhere says whether the shell itself or the environment may have set a variable: then ${x:+word} is the word. Such names are
// in capitals, but for those of proxies and some of zsh's.
func elsewhere(name string) bool {
	switch name {
	case "path", "fpath", "cdpath", "manpath", "argv", "status", "pipestatus", "histchars", "commands", "options", "parameters", "functions", "builtins", "signals":
		return true
	}
	return strings.ToLower(name) != name || strings.HasSuffix(name, "_proxy")
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
			c.Repl.With = escaped(x.rewrite(p.Repl.With))
		}
	}
	return &c
}

// substitutions interprets the command substitutions inside a node whose value doesn't matter.
func (x *expansion) substitutions(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			x.in.stmts(n.Stmts, x.state.clone(), Stream{})
			return false
		case *syntax.ProcSubst:
			x.in.stmts(n.Stmts, x.state.clone(), Stream{})
			return false
		}
		return true
	})
}

// arithmUnknown says whether the value of an arithmetic expression isn't known. It also looks for values that bash
// would evaluate once more: `a[$(command)]` in a variable runs the command.
func (x *expansion) arithmUnknown(expr syntax.ArithmExpr) bool {
	if expr == nil {
		return false
	}
	unknown := false
	syntax.Walk(expr, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			unknown = true
		case *syntax.Word:
			x.in.evaluated(x.place, x.state, quotedInArithmetic(n), 0)
		case *syntax.ParamExp:
			unknown = x.arithmName(n.Param.Value) || unknown
		case *syntax.Lit:
			if syntax.ValidName(n.Value) {
				unknown = x.arithmName(n.Value) || unknown
			}
		}
		return true
	})
	if unknown {
		x.substitutions(expr)
	}
	return unknown
}

func (x *expansion) arithmName(name string) bool {
	v := x.state.Get(name)
	value := content(v)
	switch {
	case strings.ContainsAny(value, "`$"):
		x.in.problem(x.place, Dynamic, "arithmetic would run the commands in the value of "+name)
	case !HasUnknown(value):
		x.in.evaluated(x.place, x.state, value, 1)
	case x.in.hiddenSubscript():
		x.in.problem(x.place, Dynamic, "arithmetic would run the commands in a subscript of the text, if that is the value of "+name)
	}
	return HasUnknown(value)
}
