package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// call is a program with its parsed arguments.
type call struct {
	name      string
	args      []shell.Field
	texts     []string      // texts of args
	entry     *programEntry // of the program, or of the verb
	parsed    getopt.ParsedArgs
	verbCount int // number of leading operands that are verbs
}

// anyProgram is the entry name for options that mean the same in all programs.
const anyProgram = "*"

// parseCall parses the arguments of a program. Options before a verb belong to the program, options after it to the
// verb or the program.
func parseCall(name string, texts []string) call {
	c := call{name: name, texts: texts, entry: loadTable()[name]}
	if c.entry == nil {
		c.entry = loadTable()[anyProgram]
	}
	for from := 0; ; {
		spec := c.entry.optionSpec()
		if len(c.entry.verbs) == 0 {
			c.addParsed(spec.ParseArgs(texts[from:]), from)
			return c
		}
		head := spec
		head.Stop = 1
		parsed := head.ParseArgs(texts[from:])
		verb := (*programEntry)(nil)
		if len(parsed.Operands) > 0 {
			if verb = c.entry.verbs[texts[from+parsed.Operands[0]]]; verb == nil {
				verb = c.entry.verbs["*"]
			}
		}
		if verb == nil {
			c.addParsed(spec.ParseArgs(texts[from:]), from)
			return c
		}
		at := parsed.Operands[0]
		parsed.Operands = parsed.Operands[:1]
		c.addParsed(parsed, from)
		c.entry, from, c.verbCount = verb, from+at+1, c.verbCount+1
	}
}

// unknownUses returns the uses of arguments of an unknown program.
func unknownUses(args []shell.Field) []Use {
	c := parseCall(anyProgram, shell.FieldTexts(args))
	c.args = args
	return c.dataUses()
}

// addParsed appends parsed arguments whose indexes start at from.
func (c *call) addParsed(parsed getopt.ParsedArgs, from int) {
	for _, opt := range parsed.Options {
		opt.Arg, opt.At = opt.Arg+from, opt.At+from
		c.parsed.Options = append(c.parsed.Options, opt)
	}
	for _, at := range parsed.Operands {
		c.parsed.Operands = append(c.parsed.Operands, at+from)
	}
	if parsed.Rest > 0 {
		c.parsed.Rest = parsed.Rest + from
	}
}

// operandIndexes returns the indexes of the operands after the verbs.
func (c *call) operandIndexes() []int { return c.parsed.Operands[c.verbCount:] }

// verbName returns the first word of the verb, or "" if there is none.
func (c *call) verbName() string {
	if c.verbCount == 0 {
		return ""
	}
	return c.texts[c.parsed.Operands[0]]
}

// dataUses returns the uses that follow from the entry alone, without a handler.
func (c *call) dataUses() []Use {
	uses := make([]Use, 0, len(c.args)+1)
	for _, opt := range c.parsed.Options {
		uses = c.appendOption(uses, opt)
	}
	return resolveDirs(c.appendInput(c.appendOperands(uses, c.operandIndexes())))
}

// appendOption appends the uses of an option's values.
func (c *call) appendOption(uses []Use, opt getopt.Option) []Use {
	general := loadTable()[anyProgram].optionSpec().Values[opt.Name]
	switch {
	case hasRole(opt, Command):
		if argv := c.optionCommand(opt); len(argv) > 0 {
			uses = append(uses, Use{Kind: Command, Argv: replacePlaceholders(argv, "{}")})
		}
		return uses
	case opt.Roles == "" && opt.Has && general != "":
		return append(uses, c.newUse(Kind(general[0]), opt.Value, false))
	case opt.Roles == "" && opt.Has && c.args[opt.Arg].Text[0] == '/':
		return append(uses, Use{Kind: Path, Text: opt.Value})
	case opt.Roles == "" && opt.Has:
		return append(uses, fieldUse(Path, c.args[opt.Arg]))
	case opt.Roles == "" && len(opt.Name) == 2 && opt.First:
		// A cluster of flags can be an unknown option with an attached path, as in -I/usr/include.
		if text := c.args[opt.Arg].Text; strings.HasPrefix(text, opt.Name) && isPathLike(text[2:]) {
			uses = append(uses, Use{Kind: Path, Text: text[2:]})
		}
		return uses
	}
	for i, letter := range []byte(opt.Roles) {
		value, glob := opt.Value, false
		if i > 0 {
			if opt.At+i >= len(c.args) {
				break
			}
			value, glob = c.args[opt.At+i].Text, c.args[opt.At+i].Glob
		}
		if opt.Has {
			uses = append(uses, c.newUse(Kind(letter), value, glob))
		}
	}
	return uses
}

// hasRole reports whether the value of an option has the role kind.
func hasRole(opt getopt.Option, kind Kind) bool { return opt.Roles == string(rune(kind)) }

// isPathLike reports whether the rest of a flag cluster may be a path rather than more flags.
func isPathLike(text string) bool { return strings.ContainsAny(text, "/.~") || shell.HasUnknown(text) }

// optionCommand returns the command that follows an option such as -exec.
func (c *call) optionCommand(opt getopt.Option) []shell.Field {
	switch {
	case opt.Has:
		return append(wordFields(opt.Value), c.args[opt.Arg+1:]...)
	case c.parsed.Rest == 0:
		return nil
	}
	argv := c.args[c.parsed.Rest:]
	if len(argv) > 1 && argv[1].Text == "--" {
		return append([]shell.Field{argv[0]}, argv[2:]...)
	}
	return argv
}

// appendOperands appends the uses of the operands at the given indexes.
func (c *call) appendOperands(uses []Use, at []int) []Use {
	skip := 0
	if c.entry.Unless != "" && c.parsed.HasOption(strings.Fields(string(c.entry.Unless))...) {
		skip = 1
	}
	for n, i := range at {
		r := c.entry.findRole(n, len(at), skip)
		arg := c.args[i]
		switch {
		case r.kind == Command && strings.Contains(arg.Text, " "):
			// Program names have no spaces: the text is a shell command.
			return append(uses, shellCode(strings.Join(shell.FieldTexts(c.args[i:]), " ")))
		case r.kind == Command:
			return append(uses, Use{Kind: Command, Argv: c.args[i:]})
		case r.kind == Code && !r.repeats && n+skip == len(c.entry.roles)-1:
			// The rest of the words is one shell command.
			return append(uses, c.newUse(Code, strings.Join(shell.FieldTexts(c.args[i:]), " "), false))
		case r.kind == Path && c.entry.optionSpec().Stop > 0 && c.name != anyProgram:
			return append(uses, unknownUses(c.args[i:])...) // arguments of a script
		case r.kind == Path && i > 0 && c.generalKind(c.args[i-1].Text) == Data:
			uses = append(uses, Use{Kind: Data, Text: arg.Text, Glob: arg.Glob})
		default:
			uses = append(uses, c.newUse(r.kind, arg.Text, arg.Glob))
		}
	}
	return uses
}

// generalKind returns the kind of an option's value if only the entry for all programs has the option, and Path
// otherwise.
func (c *call) generalKind(option string) Kind {
	if roles := loadTable()[anyProgram].optionSpec().Values[option]; roles != "" && c.entry.optionSpec().Values[option] == "" {
		return Kind(roles[0])
	}
	return Path
}

// newUse returns a use. Code, Script and Input get the language of the entry.
func (c *call) newUse(kind Kind, text string, glob bool) Use {
	u := Use{Kind: kind, Text: text, Glob: glob}
	if kind == Script && text == "-" {
		u = Use{Kind: Input}
	}
	if u.Kind == Code || u.Kind == Script || u.Kind == Input {
		if u.Lang = c.entry.Lang; u.Lang == "" {
			u.Lang = "sh"
		}
	}
	return u
}

// appendInput appends a use of standard input as code, if the program reads code there and no other argument is code.
func (c *call) appendInput(uses []Use) []Use {
	if c.entry.Input == "" {
		return uses
	}
	for _, u := range uses {
		if u.Kind == Code || u.Kind == Script || u.Kind == Command || u.Kind == Input {
			return uses
		}
	}
	return append(uses, Use{Kind: Input, Lang: c.entry.Input})
}

// resolveDirs makes paths after an Enter relative to the directory that the program changes to.
func resolveDirs(uses []Use) []Use {
	dir := ""
	for i := range uses {
		switch u := &uses[i]; u.Kind {
		case Enter:
			u.Text = joinPath(dir, u.Text)
			dir = u.Text
		case Path, Read, Write, List, Delete, Script:
			u.Text = joinPath(dir, u.Text)
		case Command:
			if u.Dir == "" {
				u.Dir = dir
			}
		}
	}
	return uses
}

// joinPath returns path relative to dir. Absolute, remote and home paths and options stay unchanged.
func joinPath(dir, path string) string {
	if dir == "" || path == "" || path[0] == '/' || path[0] == '~' || path[0] == '-' || IsRemote(path) ||
		strings.HasPrefix(path, "file:") {
		return path
	}
	return strings.TrimSuffix(dir, "/") + "/" + path
}

// replacePlaceholders replaces the placeholder mark in a command by shell.Item.
func replacePlaceholders(argv []shell.Field, mark string) []shell.Field {
	out := make([]shell.Field, len(argv))
	for i, f := range argv {
		out[i] = shell.Field{Text: strings.ReplaceAll(f.Text, mark, shell.Item), Glob: f.Glob}
	}
	return out
}
