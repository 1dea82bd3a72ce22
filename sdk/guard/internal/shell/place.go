package shell

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Span is a range of bytes of the text. Line and Column are those of Start and count from 1.
type Span struct{ Start, End, Line, Column int }

// Place is the position of a command in the text, and its working directory.
type Place struct {
	Dir string // the working directory; "" if unknown

	node      syntax.Node // the node at this position; nil if part is set
	byteRange byteRange
	source    *codeSource
}

// byteRange is a range of bytes of one text.
type byteRange struct{ start, end int }

// byteBounds returns the byte range of the place in its source.
func (p *Place) byteBounds() byteRange {
	if p.node == nil {
		return p.byteRange
	}
	return byteRange{int(p.node.Pos().Offset()), int(p.node.End().Offset())}
}

// codeSource is a text that is interpreted: the whole text, or code within it.
type codeSource struct {
	text  string
	runBy *Place // the command that runs the code; nil for the whole text
}

// NewPlace returns the place of a byte range of a text.
func NewPlace(text string, start, end int, dir string) *Place {
	return &Place{Dir: dir, byteRange: byteRange{start, end}, source: &codeSource{text: text}}
}

// Span returns the range in the whole text. Nested code has its own range if it occurs there exactly once, and
// otherwise that of the command that runs it.
func (p *Place) Span() Span {
	whole, at := p.source, p.byteBounds()
	for whole != nil && whole.runBy != nil {
		outer := whole.runBy.source
		for outer.runBy != nil {
			outer = outer.runBy.source
		}
		if found := strings.Index(outer.text, whole.text); found >= 0 && whole.text != "" &&
			!strings.Contains(outer.text[found+1:], whole.text) {
			whole, at = outer, byteRange{found + at.start, found + at.end}
			break
		}
		whole, at = whole.runBy.source, whole.runBy.byteBounds()
	}
	if whole == nil || at.end > len(whole.text) || at.start > at.end {
		return Span{}
	}
	before := whole.text[:at.start]
	return Span{Start: at.start, End: at.end, Line: 1 + strings.Count(before, "\n"),
		Column: at.start - strings.LastIndexByte(before, '\n')}
}

// IsNested reports whether the place is in code that a command of the text runs, and not in the text itself.
func (p *Place) IsNested() bool { return p.source == nil || p.source.runBy != nil }

// FindWithin returns the place from the first to the last of the texts, if they occur in order and the first occurs
// once in p. Otherwise it returns p.
func (p *Place) FindWithin(texts ...string) Place {
	all := p.byteBounds()
	if p.source == nil || len(texts) == 0 || texts[0] == "" || all.end > len(p.source.text) || all.start > all.end {
		return *p
	}
	whole := p.source.text[all.start:all.end]
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
	match := *p
	match.node, match.byteRange = nil, byteRange{all.start + at, all.start + end}
	return match
}

// nodePlace returns the place of a node.
func (in *Interpreter) nodePlace(node syntax.Node, st *state) *Place {
	return &Place{Dir: st.dir, node: node, source: in.source}
}

// nodeText returns the source text of a node.
func (in *Interpreter) nodeText(node syntax.Node) string {
	start, end := int(node.Pos().Offset()), int(node.End().Offset())
	if start < 0 || end > len(in.source.text) || start > end {
		return ""
	}
	return in.source.text[start:end]
}

// interpretCd changes the working directory as cd does.
func (in *Interpreter) interpretCd(c *Call, st *state, args []string) {
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
			target = "/" + Unknown // the previous directory of the shell
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
			if !in.countStep(&c.Place) {
				return
			}
			in.visitor.VisitPath(&c.Place, ForEntering, Field{Text: filepath.Join(dir, target)})
		}
	}
	in.changeDir(c, st, target)
}

// changeDir sets the working directory.
func (in *Interpreter) changeDir(c *Call, st *state, target string) {
	in.visitor.VisitPath(&c.Place, ForEntering, Field{Text: target})
	st.oldDir = st.dir
	switch {
	case HasUnknown(target) || len(st.dir)+len(target) > maxDir:
		st.dir = ""
	case filepath.IsAbs(target) || st.dir != "":
		st.dir = st.absPath(target)
	}
}

// interpretPushd changes the working directory and pushes the old one on the stack.
func (in *Interpreter) interpretPushd(c *Call, st *state, args []string) {
	operands := skipOptions(args)
	if len(operands) == 0 || strings.HasPrefix(operands[0], "+") {
		n := len(st.dirStack)
		if n > 0 {
			top := st.dirStack[n-1]
			st.dirStack = append(st.dirStack[:n-1:n-1], st.dir)
			in.changeDir(c, st, top)
		}
		return
	}
	st.dirStack = append(st.dirStack[:len(st.dirStack):len(st.dirStack)], st.dir)
	in.changeDir(c, st, operands[0])
}
