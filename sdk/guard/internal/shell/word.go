package shell

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

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
	from  Origin         // what made the unknown parts
}

func (in *Interpreter) expansion(st *state, place *Place) *expansion {
	x := in.expansions.get()
	x.in, x.state, x.place, x.glob, x.from = in, st, place, false, Origin{}
	if x.cfg != nil {
		x.cfg.Env = st
	}
	return x
}

func (x *expansion) config() *expand.Config {
	if x.cfg == nil {
		x.cfg = &expand.Config{Env: x.state, CmdSubst: x.cmdSubst, ProcSubst: x.procSubst}
	}
	return x.cfg
}

// fields expands words into arguments.
func (x *expansion) fields(words []*syntax.Word) []Field {
	out := x.in.fields.list(len(words))
	for _, word := range words {
		if text, pattern, ok := x.simple(word); ok && x.in.work <= maxWork {
			if out = x.add(out, text, pattern); unsure(text) {
				out[len(out)-1].single = isSingle(word)
			}
			continue
		}
		more, ok := x.several(word, len(out))
		out = append(out, more...)
		if !ok {
			x.in.stopped = true
			x.in.problem(x.place, TooComplex, "a word expands to too much")
			break
		}
	}
	return out
}

// several expands a word that may have extended patterns, which are followed as what they may match.
func (x *expansion) several(word *syntax.Word, before int) (out []Field, ok bool) {
	words, ok := alternatives(word)
	if !ok {
		return nil, false
	}
	if words == nil {
		return x.split(word, before)
	}
	for _, word := range words {
		more, ok := x.split(word, before+len(out))
		if out = append(out, more...); !ok {
			return out, false
		}
	}
	return out, true
}

// split expands a word that may be any number of arguments. It says whether they are few enough, with those before.
func (x *expansion) split(word *syntax.Word, before int) (out []Field, ok bool) {
	x.glob = false
	known := x.rewrite(word)
	if braces(known) > maxBraces {
		return nil, false
	}
	words, ok := unbraced(known)
	if !ok {
		return nil, false
	}
	for text, err := range expand.FieldsSeq(x.config(), words...) {
		if err != nil {
			return append(out, Field{Text: Unknown}), true
		}
		if x.in.work += len(text) + perWord; before+len(out) >= maxFields || x.in.work > maxWork {
			return out, false
		}
		if out = x.add(out, text, x.glob); unsure(text) {
			out[len(out)-1].single = isSingle(word)
		}
	}
	return out, true
}

// add adds an argument, which may be a pattern for the shell if pattern is set.
func (x *expansion) add(out []Field, text string, pattern bool) []Field {
	field := Field{Text: text, Glob: pattern && isPattern(text)}
	if field.Glob && strings.Contains(text, "/") || text == ".*" {
		x.in.visitor.Open(x.place, ForListing, field)
	}
	return append(out, field)
}

// one expands a word where the shell neither splits nor matches patterns, as in an assignment.
func (x *expansion) one(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	if text, _, ok := x.simple(word); ok && x.in.work <= maxWork {
		return text
	}
	text, err := expand.Literal(x.config(), escaped(x.rewrite(word)))
	if err != nil {
		return Unknown
	}
	return text
}

// escaped is a word with what backslashes stand before in quotes, as expand.Literal leaves them where they are.
func escaped(word *syntax.Word) *syntax.Word {
	if !slices.ContainsFunc(word.Parts, func(part syntax.WordPart) bool { return backslashes(part) != "" }) {
		return word
	}
	var parts []syntax.WordPart
	for _, part := range word.Parts {
		text := backslashes(part)
		if text == "" {
			parts = append(parts, part)
			continue
		}
		for text != "" {
			plain, rest, _ := strings.Cut(text, `\`)
			if plain != "" {
				parts = append(parts, &syntax.Lit{Value: plain})
			}
			_, size := utf8.DecodeRuneInString(rest)
			if sign := rest[:size]; sign != "" && sign != "\n" {
				parts = append(parts, &syntax.SglQuoted{Value: sign})
			}
			text = rest[size:]
		}
	}
	return &syntax.Word{Parts: parts}
}

// backslashes is the text of a part without quotes that has some; "" if there are none.
func backslashes(part syntax.WordPart) string {
	if lit, ok := part.(*syntax.Lit); ok && strings.Contains(lit.Value, `\`) {
		return lit.Value
	}
	return ""
}

// document expands the body of a here-document, unless the word is quoted that ends it.
func (x *expansion) document(redir *syntax.Redirect) string {
	word := redir.Hdoc
	if word == nil {
		return ""
	}
	if redir.Op == syntax.DashHdoc {
		word = outdented(word)
	}
	if quoted(redir.Word) {
		return verbatim(word)
	}
	text, err := expand.Document(x.config(), &syntax.Word{Parts: x.parts(word.Parts, true)})
	if err != nil {
		return Unknown
	}
	return text
}

// quoted says whether a part of a word is quoted.
func quoted(word *syntax.Word) bool {
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// verbatim is the body of a here-document as it stands.
func verbatim(word *syntax.Word) string {
	var b strings.Builder
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.WriteString(lit.Value)
			continue
		}
		// The parser takes some quoted words for plain ones.
		if syntax.NewPrinter().Print(&b, &syntax.Word{Parts: []syntax.WordPart{part}}) != nil {
			return Unknown
		}
	}
	return b.String()
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

// part returns what stands for a part of a word; quoted says whether it stands between double quotes.
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
		if marks := x.state.marked(); !quoted && marks != "" {
			part = x.splitPrint(p, marks)
		}
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

// isPattern says whether a word is a pattern: it has a star, a question mark, or an opening bracket with a closing one.
func isPattern(text string) bool {
	open := strings.IndexByte(text, '[')
	return strings.ContainsAny(text, "*?") || open >= 0 && strings.IndexByte(text[open:], ']') > 0
}

// hasPattern says whether a literal has pattern characters that no backslash escapes.
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
	_, err := io.WriteString(w, x.prints(cs))
	return err
}

// prints interprets a command substitution and returns what it would print.
func (x *expansion) prints(cs *syntax.CmdSubst) string {
	inner := x.state.clone()
	inner.printer = nil
	states, out := x.in.stmts(cs.Stmts, inner, Stream{})
	x.state.keepFiles(states).drain()
	if out.Known {
		return out.Text
	}
	x.from = x.in.origin(x.from, out.From)
	return Unknown
}

// procSubst interprets a process substitution; its value is the path of a pipe.
func (x *expansion) procSubst(ps *syntax.ProcSubst) (string, error) {
	stdin := Stream{}
	if ps.Op == syntax.CmdOut {
		stdin = Stream{Piped: true, From: From("a process substitution")}
	}
	inner := x.state.clone()
	inner.trap = "" // a shell of its own
	if ps.Op == syntax.CmdOut {
		inner.input = nil
	} else {
		inner.printer = nil
	}
	states, out := x.in.stmts(ps.Stmts, inner, stdin)
	x.in.ends(states)
	x.state.keepFiles(states)
	path := "/dev/fd/" + Substituted
	if ps.Op == syntax.CmdIn || ps.Op == syntax.CmdInTemp {
		x.state.write(path, out)
	}
	return path, nil
}

// evaluate computes an arithmetic expression for its side effects.
func (x *expansion) evaluate(expr syntax.ArithmExpr) error {
	_, err := expand.Arithm(x.config(), expr)
	return err
}
