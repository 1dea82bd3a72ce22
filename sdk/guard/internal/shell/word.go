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
	in    *Interpreter
	state *state
	place *Place
	cfg   *expand.Config // made when it is first needed
	glob  bool           // the word has a part that may be a pattern
	from  []string       // what made the unknown parts
}

func (in *Interpreter) expansion(st *state, place *Place) *expansion {
	return &expansion{in: in, state: st, place: place}
}

func (x *expansion) config() *expand.Config {
	if x.cfg == nil {
		x.cfg = &expand.Config{Env: x.state, CmdSubst: x.cmdSubst, ProcSubst: x.procSubst}
	}
	return x.cfg
}

// fields expands words into arguments.
func (x *expansion) fields(words []*syntax.Word) []Field {
	var out []Field
	for _, word := range words {
		if text, ok := plain(word); ok {
			out = append(out, Field{Text: text})
			continue
		}
		x.glob = false
		if braces(word) > maxBraces {
			x.in.stopped = true
			x.in.problem(x.place, TooComplex, "a word has too many braces")
			return out
		}
		known := x.rewrite(word)
		for text, err := range expand.FieldsSeq(x.config(), known) {
			if err != nil {
				out = append(out, Field{Text: Unknown})
				break
			}
			if !x.in.spend(len(text)+wordCost, x.place) || len(out) >= maxFields {
				x.in.tooMuch(x.place)
				return out
			}
			if text == "" && !hasQuotes(word) {
				continue // of a brace
			}
			field := Field{Text: text, Glob: x.glob && isPattern(text)}
			if field.Glob && strings.Contains(text, "/") || text == ".*" {
				x.in.visitor.Open(x.place, ForListing, field)
			}
			out = append(out, field)
		}
	}
	return out
}

// hasQuotes reports whether a part of a word is quoted, so that there is a word even if it is empty.
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

// braces counts the braces of a word that may expand to several.
func braces(word *syntax.Word) int {
	n := 0
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	return n
}

// plain returns the text of a word that means itself.
func plain(word *syntax.Word) (string, bool) {
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

// one expands a word where the shell neither splits nor matches patterns, as in an assignment.
func (x *expansion) one(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	if text, ok := plain(word); ok {
		return text
	}
	text, err := expand.Literal(x.config(), x.unescape(x.rewrite(word)))
	if err != nil {
		return Unknown
	}
	return text
}

// unescape takes the backslashes out of what stands outside of quotes, which package expand leaves there, and replaces
// the tilde in front.
func (x *expansion) unescape(word *syntax.Word) *syntax.Word {
	for i, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		var b strings.Builder
		value := lit.Value
		if name, rest, _ := strings.Cut(value, "/"); i == 0 && strings.HasPrefix(name, "~") && !strings.Contains(name, `\`) &&
			(rest != "" || len(word.Parts) == 1 || strings.HasSuffix(value, "/")) {
			b.WriteString(x.state.homeOf(name[1:]))
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

// document expands the body of a here-document. With indented, tabs at the beginning of its lines
// don't count; with plain, all characters mean themselves.
func (x *expansion) document(word *syntax.Word, indented, plain bool) string {
	if word == nil {
		return ""
	}
	if indented {
		word = outdented(word)
	}
	if plain {
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
	text, err := expand.Document(x.config(), &syntax.Word{Parts: x.parts(word.Parts, true)})
	if err != nil {
		return Unknown
	}
	return text
}

// outdented is the body of a here-document without the tabs at the beginning of its lines.
func outdented(word *syntax.Word) *syntax.Word {
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

// assigned expands the value of an assignment, where a tilde also counts after a colon.
func (x *expansion) assigned(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	value := x.one(word)
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.Contains(lit.Value, ":~/") {
			value = strings.ReplaceAll(value, ":~/", ":"+x.state.Get("HOME").String()+"/")
		}
	}
	return value
}

// rewrite replaces the parts of a word that aren't known by runes that say so, because package expand would take
// them for text.
func (x *expansion) rewrite(word *syntax.Word) *syntax.Word {
	return &syntax.Word{Parts: x.parts(word.Parts, false)}
}

func (x *expansion) parts(parts []syntax.WordPart, quoted bool) []syntax.WordPart {
	out := make([]syntax.WordPart, 0, len(parts))
	for _, part := range parts {
		out = append(out, x.part(part, quoted)...)
	}
	return out
}

// part returns what stands for a part of a word; quoted reports whether it stands between double quotes.
func (x *expansion) part(part syntax.WordPart, quoted bool) []syntax.WordPart {
	switch p := part.(type) {
	case *syntax.Lit:
		x.glob = x.glob || !quoted && hasPattern(p.Value)
	case *syntax.DblQuoted:
		part = &syntax.DblQuoted{Left: p.Left, Right: p.Right, Dollar: p.Dollar, Parts: x.parts(p.Parts, true)}
	case *syntax.ParamExp:
		x.glob = x.glob || !quoted
		return x.param(p, quoted)
	case *syntax.CmdSubst:
		x.glob = x.glob || !quoted
	case *syntax.ArithmExp:
		if x.arithmUnknown(p.X) {
			part = &syntax.Lit{Value: Unknown}
		}
	case *syntax.ExtGlob:
		x.glob = true
		part = &syntax.Lit{Value: "*"}
	}
	return []syntax.WordPart{part}
}

// isPattern reports whether a word is a pattern: it has a star, a question mark, or an opening bracket with a closing
// one.
func isPattern(text string) bool {
	open := strings.IndexByte(text, '[')
	return strings.ContainsAny(text, "*?") || open >= 0 && strings.IndexByte(text[open:], ']') > 0
}

// hasPattern reports whether a literal has pattern characters that no backslash escapes.
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

// cmdSubst interprets a command substitution and prints what it would.
func (x *expansion) cmdSubst(w io.Writer, cs *syntax.CmdSubst) error {
	out := x.in.child(x.state, x.place, func(child *state) Stream { return x.in.stmts(cs.Stmts, child, Stream{}) })
	text := Unknown
	if out.Known {
		text = out.Text
	} else {
		x.from = append(x.from, out.From...)
	}
	_, err := io.WriteString(w, text)
	return err
}

// procSubst interprets a process substitution; its value is the path of a pipe.
func (x *expansion) procSubst(ps *syntax.ProcSubst) (string, error) {
	stdin := Stream{}
	if ps.Op == syntax.CmdOut {
		stdin = printed("a process substitution")
	}
	out := x.in.child(x.state, x.place, func(child *state) Stream { return x.in.stmts(ps.Stmts, child, stdin) })
	path := "/dev/fd/" + Substituted
	if ps.Op == syntax.CmdIn || ps.Op == syntax.CmdInTemp {
		x.state.write(path, out)
	}
	return path, nil
}

// arithm evaluates an arithmetic expression for its assignments.
func (x *expansion) arithm(expr syntax.ArithmExpr) {
	if expr == nil {
		return
	}
	if !x.arithmUnknown(expr) {
		if _, err := expand.Arithm(x.config(), expr); err == nil {
			return
		}
	}
	x.forget(expr)
}

// forget is called where a node assigns variables that aren't known from there on.
func (x *expansion) forget(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if lit, ok := n.(*syntax.Lit); ok && syntax.ValidName(lit.Value) {
			x.state.set(lit.Value, Unknown, nil)
		}
		return true
	})
}

// arithmUnknown reports whether the value of an arithmetic expression isn't known. It also looks for values that bash
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
	value := v.String()
	x.in.evaluated(x.place, value, x.state)
	return HasUnknown(value) || v.Kind != 0 && len(v.List) > 0 && HasUnknown(strings.Join(v.List, ""))
}
