package shell

import (
	"io"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// wordExpander expands the words of one command in one shell state.
type wordExpander struct {
	in          *Interpreter
	state       *shellState
	place       *CommandLocation
	cfg         *expand.Config // built on first use
	glob        bool           // the current word may contain a pattern
	unknownFrom []string       // commands that printed the unknown parts
}

func (in *Interpreter) newWordExpander(st *shellState, place *CommandLocation) *wordExpander {
	return &wordExpander{in: in, state: st, place: place}
}

func (x *wordExpander) expansionConfig() *expand.Config {
	if x.cfg == nil {
		x.cfg = &expand.Config{Env: x.state, CmdSubst: x.interpretCommandSubst, ProcSubst: x.interpretProcessSubst}
	}
	return x.cfg
}

func (x *wordExpander) expandArguments(words []*syntax.Word) []Argument {
	var out []Argument
	for _, word := range words {
		if text, ok := plainWordText(word); ok {
			out = append(out, Argument{Text: text})
			continue
		}
		x.glob = false
		if countBraces(word) > maxBraces {
			x.in.stopped = true
			x.in.reportProblem(x.place, TooComplex, "a word has too many braces")
			return out
		}
		known := x.markUnknownInWord(word)
		for text, err := range expand.FieldsSeq(x.expansionConfig(), known) {
			if err != nil {
				out = append(out, Argument{Text: Unknown})
				break
			}
			if !x.in.countExpandedBytes(len(text)+wordOverhead, x.place) || len(out) >= maxFields {
				x.in.stopAtExpansionLimit(x.place)
				return out
			}
			if text == "" && !hasQuotes(word) {
				continue // of a brace
			}
			field := Argument{Text: text, Glob: x.glob && isGlobPattern(text)}
			if field.Glob && strings.Contains(text, "/") || text == ".*" {
				x.in.visitor.VisitPath(x.place, ForListing, field)
			}
			out = append(out, field)
		}
	}
	return out
}

// hasQuotes reports whether a part of a word is quoted, so that the word counts as an argument even if it is empty.
func hasQuotes(word *syntax.Word) bool {
	return slices.ContainsFunc(word.Parts, func(part syntax.WordPart) bool {
		switch p := part.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return true
		case *syntax.Lit:
			return strings.ContainsAny(p.Value, `"'`)
		}
		return false
	})
}

// countBraces counts the opening braces in the literal parts of a word.
func countBraces(word *syntax.Word) int {
	n := 0
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	return n
}

// plainWordText returns the text of a word that needs no expansion. The bool is false for other words.
func plainWordText(word *syntax.Word) (string, bool) {
	if len(word.Parts) != 1 {
		return "", false
	}
	switch p := word.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value, p.Value != "" && p.Value != ".*" && !strings.ContainsAny(p.Value, "\\~*?[]{}") &&
			len(p.Value) < maxValue
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar && len(p.Value) < maxValue
	}
	return "", false
}

// expandWordUnsplit expands a word without splitting and pattern matching, as in an assignment.
func (x *wordExpander) expandWordUnsplit(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	if text, ok := plainWordText(word); ok {
		return text
	}
	text, err := expand.Literal(x.expansionConfig(), x.unescapeAndExpandTilde(x.markUnknownInWord(word)))
	if err != nil {
		return Unknown
	}
	return text
}

// unescapeAndExpandTilde removes backslashes from unquoted parts, because package expand keeps them. It also expands a leading
// tilde.
func (x *wordExpander) unescapeAndExpandTilde(word *syntax.Word) *syntax.Word {
	for i, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		var b strings.Builder
		value := lit.Value
		if name, rest, _ := strings.Cut(value, "/"); i == 0 && strings.HasPrefix(name, "~") && !strings.Contains(name, `\`) &&
			(rest != "" || len(word.Parts) == 1 || strings.HasSuffix(value, "/")) {
			b.WriteString(x.state.expandTilde(name[1:]))
			value = value[len(name):]
		}
		for j := 0; j < len(value); j++ {
			if value[j] == '\\' && j+1 < len(value) {
				if j++; value[j] == '\n' {
					continue
				}
			}
			b.WriteByte(value[j])
		}
		word.Parts[i] = &syntax.SglQuoted{Value: b.String()}
	}
	return word
}

// expandHeredoc expands the body of a here-document. indented removes leading tabs. quoted disables all expansions.
func (x *wordExpander) expandHeredoc(word *syntax.Word, indented, quoted bool) string {
	if word == nil {
		return ""
	}
	if indented {
		word = trimHeredocIndent(word)
	}
	if quoted {
		var b strings.Builder
		for _, part := range word.Parts {
			lit, ok := part.(*syntax.Lit)
			if !ok {
				return Unknown
			}
			b.WriteString(lit.Value)
		}
		return b.String()
	}
	text, err := expand.Document(x.expansionConfig(), &syntax.Word{Parts: x.markUnknownInParts(word.Parts, true)})
	if err != nil {
		return Unknown
	}
	return text
}

// trimHeredocIndent removes leading tabs from the lines of a here-document.
func trimHeredocIndent(word *syntax.Word) *syntax.Word {
	out := &syntax.Word{}
	begin := true
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			lines := strings.SplitAfter(lit.Value, "\n")
			for i, line := range lines {
				if begin || i > 0 {
					lines[i] = strings.TrimLeft(line, "\t")
				}
			}
			value := strings.Join(lines, "")
			begin = strings.HasSuffix(value, "\n")
			out.Parts = append(out.Parts, &syntax.Lit{Value: value})
			continue
		}
		begin = false
		out.Parts = append(out.Parts, part)
	}
	return out
}

// expandAssignedValue expands the value of an assignment. A tilde is also expanded after a colon.
func (x *wordExpander) expandAssignedValue(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	value := x.expandWordUnsplit(word)
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.Contains(lit.Value, ":~/") {
			value = strings.ReplaceAll(value, ":~/", ":"+x.state.Get("HOME").String()+"/")
		}
	}
	return value
}

// markUnknownInWord replaces unknown parts of a word by marks, which package expand treats as text.
func (x *wordExpander) markUnknownInWord(word *syntax.Word) *syntax.Word {
	return &syntax.Word{Parts: x.markUnknownInParts(word.Parts, false)}
}

func (x *wordExpander) markUnknownInParts(parts []syntax.WordPart, quoted bool) []syntax.WordPart {
	out := make([]syntax.WordPart, 0, len(parts))
	for _, part := range parts {
		out = append(out, x.markUnknownInPart(part, quoted)...)
	}
	return out
}

// markUnknownInPart replaces an unknown part by marks. quoted says that it is between double quotes.
func (x *wordExpander) markUnknownInPart(part syntax.WordPart, quoted bool) []syntax.WordPart {
	switch p := part.(type) {
	case *syntax.Lit:
		x.glob = x.glob || !quoted && hasUnescapedGlob(p.Value)
	case *syntax.DblQuoted:
		part = &syntax.DblQuoted{Left: p.Left, Right: p.Right, Dollar: p.Dollar, Parts: x.markUnknownInParts(p.Parts, true)}
	case *syntax.ParamExp:
		x.glob = x.glob || !quoted
		return x.markParamIfUnknown(p, quoted)
	case *syntax.CmdSubst:
		x.glob = x.glob || !quoted
	case *syntax.ArithmExp:
		if x.interpretArithmetic(p.X) {
			part = &syntax.Lit{Value: Unknown}
		}
	case *syntax.ExtGlob:
		x.glob = true
		part = &syntax.Lit{Value: "*"}
	}
	return []syntax.WordPart{part}
}

// isGlobPattern reports whether a text contains a star, a question mark or a pair of brackets.
func isGlobPattern(text string) bool {
	open := strings.IndexByte(text, '[')
	return strings.ContainsAny(text, "*?") || open >= 0 && strings.IndexByte(text[open:], ']') > 0
}

// hasUnescapedGlob reports whether a literal contains unescaped pattern characters.
func hasUnescapedGlob(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// interpretCommandSubst interprets a command substitution and writes its output to w.
func (x *wordExpander) interpretCommandSubst(w io.Writer, cs *syntax.CmdSubst) error {
	out := x.in.interpretSubshell(x.state, x.place, func(child *shellState) StreamContent { return x.in.interpretStmts(cs.Stmts, child, StreamContent{}) })
	text := Unknown
	if out.Known {
		text = out.Text
	} else {
		x.unknownFrom = append(x.unknownFrom, out.From...)
	}
	_, err := io.WriteString(w, text)
	return err
}

func (x *wordExpander) interpretProcessSubst(ps *syntax.ProcSubst) (string, error) {
	stdin := StreamContent{}
	if ps.Op == syntax.CmdOut {
		stdin = unknownStream("a process substitution")
	}
	out := x.in.interpretSubshell(x.state, x.place, func(child *shellState) StreamContent { return x.in.interpretStmts(ps.Stmts, child, stdin) })
	path := "/dev/fd/" + Substituted
	if ps.Op == syntax.CmdIn || ps.Op == syntax.CmdInTemp {
		x.state.recordFileContent(path, out)
	}
	return path, nil
}

// evalArithmetic evaluates an arithmetic expression for the variables that it assigns.
func (x *wordExpander) evalArithmetic(expr syntax.ArithmExpr) {
	if expr == nil {
		return
	}
	if !x.interpretArithmetic(expr) {
		if _, err := expand.Arithm(x.expansionConfig(), expr); err == nil {
			return
		}
	}
	x.forgetNamedVars(expr)
}

// forgetNamedVars makes all variables named in a node unknown.
func (x *wordExpander) forgetNamedVars(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if lit, ok := n.(*syntax.Lit); ok && syntax.ValidName(lit.Value) {
			x.state.setVar(lit.Value, Unknown, nil)
		}
		return true
	})
}

// interpretArithmetic interprets substitutions in an arithmetic expression, also in values that bash evaluates a second
// time. It reports whether the value of the expression is unknown.
func (x *wordExpander) interpretArithmetic(expr syntax.ArithmExpr) bool {
	if expr == nil {
		return false
	}
	unknown := false
	syntax.Walk(expr, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			unknown = true
		case *syntax.ParamExp:
			unknown = x.interpretArithmeticVar(n.Param.Value) || unknown
		case *syntax.Lit:
			if syntax.ValidName(n.Value) {
				unknown = x.interpretArithmeticVar(n.Value) || unknown
			}
		}
		return true
	})
	if unknown {
		x.interpretSubstitutions(expr)
	}
	return unknown
}

// interpretArithmeticVar interprets substitutions in the value of a variable, which bash expands again in an arithmetic
// expression. It reports whether the value is unknown.
func (x *wordExpander) interpretArithmeticVar(name string) bool {
	v := x.state.Get(name)
	value := v.String()
	x.in.interpretNestedSubstitutions(x.place, value, x.state)
	return HasUnknown(value) || v.Kind != 0 && len(v.List) > 0 && HasUnknown(strings.Join(v.List, ""))
}
