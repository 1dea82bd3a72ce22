package shell

import (
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/paths"
)

// Memory is what interpretations can work in one after the other, so that each need not take and leave as much as the tree
// of its text again. It serves one at a time; the zero value is ready.
type Memory struct {
	bash, posix *syntax.Parser

	// Where the many small values of one text come from.
	places     spares[Place]
	commands   spares[Call]
	expansions spares[expansion]
	fields     slab[Field]
	texts      slab[string]
	states     slab[state]
	ways       slab[*state]
	origins    slab[origins]
	variables  tables[expand.Variable]
	written    tables[Stream]
	paths      paths.Joiner
	sets       []map[string]string // of variables that one command sets, empty
	reads      []read
}

// readsKept is for how many reads there stays room.
const readsKept = 16 << 10

// Reset forgets everything that the memory holds. Nothing that an interpretation has told may be used afterwards.
func (m *Memory) Reset() {
	m.places.reset()
	m.commands.reset()
	m.fields.reset()
	m.texts.reset()
	m.states.reset()
	m.ways.reset()
	m.origins.reset()
	m.variables.reset()
	m.written.reset()
	if clear(m.reads); cap(m.reads) > readsKept {
		m.reads = nil
	}
	m.reads = m.reads[:0]
	for _, x := range m.expansions.free {
		x.in, x.state, x.place = nil, nil, nil
		if x.cfg != nil {
			x.cfg.Env = nil
		}
	}
}

// parser returns the parser of a dialect.
func (m *Memory) parser(posix bool) *syntax.Parser {
	parser, lang := &m.bash, syntax.LangBash
	if posix {
		parser, lang = &m.posix, syntax.LangPOSIX
	}
	if *parser == nil {
		*parser = syntax.NewParser(syntax.Variant(lang))
	}
	return *parser
}
