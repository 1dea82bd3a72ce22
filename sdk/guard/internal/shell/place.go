package shell

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Span is a part of the text, from byte Start up to End; Line and Column of Start count from 1.
type Span struct{ Start, End, Line, Column int }

// Place is where in the text, and in which directory, something happens.
type Place struct {
	Dir string // the working directory; "" if it isn't known

	node syntax.Node // that stands there; nil if it is a part
	part part
	text *source
}

// part is a part of one text.
type part struct{ start, end int }

// bounds returns the part of its text that a place is. The end of a node is only looked for when somebody asks.
func (p *Place) bounds() part {
	if p.node == nil {
		return p.part
	}
	return part{int(p.node.Pos().Offset()), int(p.node.End().Offset())}
}

// source is a text that is followed: the one that was given, or code within it.
type source struct {
	text string
	runs *Place // the command that runs the code; nil for the text that was given
}

// NewPlace returns the place of a part of a text.
func NewPlace(text string, start, end int, dir string) *Place {
	return &Place{Dir: dir, part: part{start, end}, text: &source{text: text}}
}

// Span returns the part of the whole text. Code within code is pointed into where it stands there once; otherwise its
// place is that of the command that runs it.
func (p *Place) Span() Span {
	whole, at := p.text, p.bounds()
	for whole != nil && whole.runs != nil {
		outer := whole.runs.text
		for outer.runs != nil {
			outer = outer.runs.text
		}
		if found := strings.Index(outer.text, whole.text); found >= 0 && whole.text != "" &&
			!strings.Contains(outer.text[found+1:], whole.text) {
			whole, at = outer, part{found + at.start, found + at.end}
			break
		}
		whole, at = whole.runs.text, whole.runs.bounds()
	}
	if whole == nil || at.end > len(whole.text) || at.start > at.end {
		return Span{}
	}
	before := whole.text[:at.start]
	return Span{Start: at.start, End: at.end, Line: 1 + strings.Count(before, "\n"),
		Column: at.start - strings.LastIndexByte(before, '\n')}
}

// Within returns the place of a part of what stands at p, from the first text to the last, if that stands there once.
func (p *Place) Within(texts ...string) Place {
	all := p.bounds()
	if p.text == nil || len(texts) == 0 || texts[0] == "" || all.end > len(p.text.text) || all.start > all.end {
		return *p
	}
	whole := p.text.text[all.start:all.end]
	at := strings.Index(whole, texts[0])
	if at < 0 || strings.Contains(whole[at+1:], texts[0]) {
		return *p
	}
	end := at + len(texts[0])
	for _, text := range texts[1:] {
		next := strings.Index(whole[end:], text)
		if next < 0 {
			return *p
		}
		end += next + len(text)
	}
	found := *p
	found.node, found.part = nil, part{all.start + at, all.start + end}
	return found
}

// place returns where a node stands.
func (in *Interpreter) place(node syntax.Node, st *state) *Place {
	return &Place{Dir: st.dir, node: node, text: in.source}
}

// raw returns the text of a node.
func (in *Interpreter) raw(node syntax.Node) string {
	start, end := int(node.Pos().Offset()), int(node.End().Offset())
	if start < 0 || end > len(in.source.text) || start > end {
		return ""
	}
	return in.source.text[start:end]
}

// cd changes the working directory.
func (in *Interpreter) cd(c *Call, st *state, args []string) {
	operands := skipOptions(args)
	target := ""
	switch {
	case len(operands) == 0:
		target = st.Get("HOME").String()
		if target == "" {
			target = Unknown
		}
	case operands[0] == "-":
		if target = st.oldDir; target == "" {
			target = "/" + Unknown // wherever the shell was before
		}
	default:
		target = operands[0]
	}
	cdpath, ok := c.Env["CDPATH"]
	if !ok {
		cdpath = st.Get("CDPATH").String()
	}
	if cdpath != "" && !filepath.IsAbs(target) && !strings.HasPrefix(target, ".") {
		for _, dir := range strings.Split(cdpath, ":") {
			if !in.step(&c.Place) {
				return
			}
			in.visitor.Open(&c.Place, ForEntering, Field{Text: filepath.Join(dir, target)})
		}
	}
	in.enter(c, st, target)
}

// enter makes target the working directory.
func (in *Interpreter) enter(c *Call, st *state, target string) {
	in.visitor.Open(&c.Place, ForEntering, Field{Text: target})
	st.oldDir = st.dir
	switch {
	case HasUnknown(target) || len(st.dir)+len(target) > maxDir:
		st.dir = ""
	case filepath.IsAbs(target) || st.dir != "":
		st.dir = st.abs(target)
	}
}

// pushd changes the working directory and remembers the old one.
func (in *Interpreter) pushd(c *Call, st *state, args []string) {
	operands := skipOptions(args)
	if len(operands) == 0 || strings.HasPrefix(operands[0], "+") {
		n := len(st.stack)
		if n > 0 {
			top := st.stack[n-1]
			st.stack = append(st.stack[:n-1:n-1], st.dir)
			in.enter(c, st, top)
		}
		return
	}
	st.stack = append(st.stack[:len(st.stack):len(st.stack)], st.dir)
	in.enter(c, st, operands[0])
}
