package shell

import (
	"io"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// expansion expands the words of one command in one state.
type expansion struct {
	in          *Interpreter
	state       *state
	place       *Place
	cfg         *expand.Config // built on first use
	glob        bool           // the word may contain a pattern
	unknownFrom []string       // what made the unknown parts
}

func (in *Interpreter) newExpansion(st *state, place *Place) *expansion {
	return &expansion{in: in, state: st, place: place}
}

// expandConfig returns the configuration for package expand.
func (x *expansion) expandConfig() *expand.Config {
	if x.cfg == nil {
		x.cfg = &expand.Config{Env: x.state, CmdSubst: x.substituteCommand, ProcSubst: x.substituteProcess}
	}
	return x.cfg
}

// expandFields expands words into arguments.
func (x *expansion) expandFields(words []*syntax.Word) []Field {
	var out []Field
	for _, word := range words {
		if text, ok := plainText(word); ok {
			out = append(out, Field{Text: text})
			continue
		}
		x.glob = false
		if countBraces(word) > maxBraces {
			x.in.stopped = true
			x.in.reportProblem(x.place, TooComplex, "a word has too many braces")
			return out
		}
		known := x.rewriteWord(word)
		for text, err := range expand.FieldsSeq(x.expandConfig(), known) {
			if err != nil {
				out = append(out, Field{Text: Unknown})
				break
			}
			if !x.in.spendBytes(len(text)+wordOverhead, x.place) || len(out) >= maxFields {
				x.in.stopExpansion(x.place)
				return out
			}
			if text == "" && !hasQuotes(word) {
				continue // of a brace
			}
			field := Field{Text: text, Glob: x.glob && isPattern(text)}
			if field.Glob && strings.Contains(text, "/") || text == ".*" {
				x.in.visitor.VisitPath(x.place, ForListing, field)
			}
			out = append(out, field)
		}
	}
	return out
}

// hasQuotes reports whether a part of a word is quoted, so that an empty word stays an argument.
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

// plainText returns the text of a word that needs no expansion.
func plainText(word *syntax.Word) (string, bool) {
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

// expandWord expands a word without splitting or pattern matching, as in an assignment.
func (x *expansion) expandWord(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	if text, ok := plainText(word); ok {
		return text
	}
	text, err := expand.Literal(x.expandConfig(), x.unescapeWord(x.rewriteWord(word)))
	if err != nil {
		return Unknown
	}
	return text
}

// unescapeWord removes backslashes from unquoted parts, which package expand keeps, and expands a leading tilde.
func (x *expansion) unescapeWord(word *syntax.Word) *syntax.Word {
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

// expandDocument expands the body of a here-document. With indented, it drops tabs at the start of lines; with
// quoted, it expands nothing.
func (x *expansion) expandDocument(word *syntax.Word, indented, quoted bool) string {
	if word == nil {
		return ""
	}
	if indented {
		word = trimIndent(word)
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
	text, err := expand.Document(x.expandConfig(), &syntax.Word{Parts: x.rewriteParts(word.Parts, true)})
	if err != nil {
		return Unknown
	}
	return text
}

// trimIndent returns the body of a here-document without the tabs at the start of its lines.
func trimIndent(word *syntax.Word) *syntax.Word {
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

// expandAssigned expands the value of an assignment, where a tilde also counts after a colon.
func (x *expansion) expandAssigned(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	value := x.expandWord(word)
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.Contains(lit.Value, ":~/") {
			value = strings.ReplaceAll(value, ":~/", ":"+x.state.Get("HOME").String()+"/")
		}
	}
	return value
}

// rewriteWord replaces the unknown parts of a word by marks, which package expand treats as text.
func (x *expansion) rewriteWord(word *syntax.Word) *syntax.Word {
	return &syntax.Word{Parts: x.rewriteParts(word.Parts, false)}
}

// rewriteParts replaces the unknown ones of several parts.
func (x *expansion) rewriteParts(parts []syntax.WordPart, quoted bool) []syntax.WordPart {
	out := make([]syntax.WordPart, 0, len(parts))
	for _, part := range parts {
		out = append(out, x.rewritePart(part, quoted)...)
	}
	return out
}

// rewritePart returns a part with unknown values replaced by marks; quoted reports whether it is between double
// quotes.
func (x *expansion) rewritePart(part syntax.WordPart, quoted bool) []syntax.WordPart {
	switch p := part.(type) {
	case *syntax.Lit:
		x.glob = x.glob || !quoted && hasPattern(p.Value)
	case *syntax.DblQuoted:
		part = &syntax.DblQuoted{Left: p.Left, Right: p.Right, Dollar: p.Dollar, Parts: x.rewriteParts(p.Parts, true)}
	case *syntax.ParamExp:
		x.glob = x.glob || !quoted
		return x.expandParam(p, quoted)
	case *syntax.CmdSubst:
		x.glob = x.glob || !quoted
	case *syntax.ArithmExp:
		if x.isArithmUnknown(p.X) {
			part = &syntax.Lit{Value: Unknown}
		}
	case *syntax.ExtGlob:
		x.glob = true
		part = &syntax.Lit{Value: "*"}
	}
	return []syntax.WordPart{part}
}

// isPattern reports whether a word is a pattern: it has a star, a question mark or a pair of brackets.
func isPattern(text string) bool {
	open := strings.IndexByte(text, '[')
	return strings.ContainsAny(text, "*?") || open >= 0 && strings.IndexByte(text[open:], ']') > 0
}

// hasPattern reports whether a literal has unescaped pattern characters.
func hasPattern(s string) bool {
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

// substituteCommand interprets a command substitution and writes its output.
func (x *expansion) substituteCommand(w io.Writer, cs *syntax.CmdSubst) error {
	out := x.in.interpretSubshell(x.state, x.place, func(child *state) Stream { return x.in.interpretStmts(cs.Stmts, child, Stream{}) })
	text := Unknown
	if out.Known {
		text = out.Text
	} else {
		x.unknownFrom = append(x.unknownFrom, out.From...)
	}
	_, err := io.WriteString(w, text)
	return err
}

// substituteProcess interprets a process substitution and returns the path of its pipe.
func (x *expansion) substituteProcess(ps *syntax.ProcSubst) (string, error) {
	stdin := Stream{}
	if ps.Op == syntax.CmdOut {
		stdin = unknownStream("a process substitution")
	}
	out := x.in.interpretSubshell(x.state, x.place, func(child *state) Stream { return x.in.interpretStmts(ps.Stmts, child, stdin) })
	path := "/dev/fd/" + Substituted
	if ps.Op == syntax.CmdIn || ps.Op == syntax.CmdInTemp {
		x.state.writeFile(path, out)
	}
	return path, nil
}

// evalArithm evaluates an arithmetic expression for its assignments.
func (x *expansion) evalArithm(expr syntax.ArithmExpr) {
	if expr == nil {
		return
	}
	if !x.isArithmUnknown(expr) {
		if _, err := expand.Arithm(x.expandConfig(), expr); err == nil {
			return
		}
	}
	x.forgetAssigned(expr)
}

// forgetAssigned makes the variables that a node assigns unknown.
func (x *expansion) forgetAssigned(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if lit, ok := n.(*syntax.Lit); ok && syntax.ValidName(lit.Value) {
			x.state.setVar(lit.Value, Unknown, nil)
		}
		return true
	})
}

// isArithmUnknown reports whether the value of an arithmetic expression is unknown. It also interprets values that
// bash would evaluate again: `a[$(command)]` in a variable runs the command.
func (x *expansion) isArithmUnknown(expr syntax.ArithmExpr) bool {
	if expr == nil {
		return false
	}
	unknown := false
	syntax.Walk(expr, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			unknown = true
		case *syntax.ParamExp:
			unknown = x.isNameUnknown(n.Param.Value) || unknown
		case *syntax.Lit:
			if syntax.ValidName(n.Value) {
				unknown = x.isNameUnknown(n.Value) || unknown
			}
		}
		return true
	})
	if unknown {
		x.interpretSubstitutions(expr)
	}
	return unknown
}

// isNameUnknown reports whether the value of a variable in an arithmetic expression is unknown.
func (x *expansion) isNameUnknown(name string) bool {
	v := x.state.Get(name)
	value := v.String()
	x.in.interpretEvaluated(x.place, value, x.state)
	return HasUnknown(value) || v.Kind != 0 && len(v.List) > 0 && HasUnknown(strings.Join(v.List, ""))
}
