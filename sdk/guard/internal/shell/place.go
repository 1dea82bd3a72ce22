package shell

import (
	"cmp"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// SourceSpan is a byte range of the command text. Line and Column are those of Start and count from 1.
type SourceSpan struct{ Start, End, Line, Column int }

// CommandLocation is the position of a command in the text, together with its working directory.
type CommandLocation struct {
	Dir string // working directory; "" if unknown

	node      syntax.Node // syntax node; nil if byteRange is set
	byteRange byteRange
	source    *interpretedSource
}

// byteRange is a range of bytes of one text.
type byteRange struct{ start, end int }

func (p *CommandLocation) byteBounds() byteRange {
	if p.node == nil {
		return p.byteRange
	}
	return byteRange{int(p.node.Pos().Offset()), int(p.node.End().Offset())}
}

// interpretedSource is a text under interpretation: the whole text, or code nested in it.
type interpretedSource struct {
	text  string
	runBy *CommandLocation // location of the command that runs the code; nil for the whole text
}

// NewLocation returns the location of a byte range in a text.
func NewLocation(text string, start, end int, dir string) *CommandLocation {
	return &CommandLocation{Dir: dir, byteRange: byteRange{start, end}, source: &interpretedSource{text: text}}
}

// Span returns the range in the whole text. Nested code has its own range if it occurs there exactly once. Otherwise
// Span returns the range of the command that runs the code.
func (p *CommandLocation) Span() SourceSpan {
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
		return SourceSpan{}
	}
	before := whole.text[:at.start]
	return SourceSpan{Start: at.start, End: at.end, Line: 1 + strings.Count(before, "\n"),
		Column: at.start - strings.LastIndexByte(before, '\n')}
}

// IsNested reports whether the location is in nested code rather than in the text itself.
func (p *CommandLocation) IsNested() bool { return p.source == nil || p.source.runBy != nil }

// LocateTexts returns the location from the first to the last text, if they occur in order and the first occurs once.
// Otherwise it returns p unchanged.
func (p *CommandLocation) LocateTexts(texts ...string) CommandLocation {
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

func (in *Interpreter) nodeLocation(node syntax.Node, st *shellState) *CommandLocation {
	return &CommandLocation{Dir: st.dir, node: node, source: in.source}
}

func (in *Interpreter) nodeText(node syntax.Node) string {
	start, end := int(node.Pos().Offset()), int(node.End().Offset())
	if start < 0 || end > len(in.source.text) || start > end {
		return ""
	}
	return in.source.text[start:end]
}

// interpretCd changes the working directory for the builtin cd.
func (in *Interpreter) interpretCd(c *SimpleCommand, st *shellState, args []string) {
	operands := argsAfterOptions(args)
	target := ""
	switch {
	case len(operands) == 0:
		target = cmp.Or(st.Get("HOME").String(), Unknown)
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
			if !in.countStep(&c.CommandLocation) {
				return
			}
			in.visitor.VisitPath(&c.CommandLocation, ForEntering, Argument{Text: filepath.Join(dir, target)})
		}
	}
	in.changeDir(c, st, target)
}

// changeDir reports the new working directory to the visitor and sets it.
func (in *Interpreter) changeDir(c *SimpleCommand, st *shellState, target string) {
	in.visitor.VisitPath(&c.CommandLocation, ForEntering, Argument{Text: target})
	st.oldDir = st.dir
	switch {
	case HasUnknown(target) || len(st.dir)+len(target) > maxDir:
		st.dir = ""
	case filepath.IsAbs(target) || st.dir != "":
		st.dir = st.absPath(target)
	}
}

// interpretPushd changes the working directory and pushes the old one on the directory stack.
func (in *Interpreter) interpretPushd(c *SimpleCommand, st *shellState, args []string) {
	operands := argsAfterOptions(args)
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
