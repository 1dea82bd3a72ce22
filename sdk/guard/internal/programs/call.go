package programs

import (
	"cmp"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// programCall is a program with its parsed arguments.
type programCall struct {
	name      string
	args      []shell.Argument
	texts     []string      // texts of args
	entry     *programEntry // entry of the program or of its verb
	parsed    getopt.ParsedArgs
	verbCount int // number of leading operands that are verbs
}

// anyProgramName is the entry name for options with the same meaning in all programs.
const anyProgramName = "*"

// parseProgramCall parses the arguments of a program. Options before a verb belong to the program. Options after it
// belong to the verb or the program.
func parseProgramCall(name string, texts []string) programCall {
	c := programCall{name: name, texts: texts, entry: loadTable()[name]}
	c.entry = cmp.Or(c.entry, loadTable()[anyProgramName])
	for from := 0; ; {
		spec := c.entry.optionSpec()
		if len(c.entry.verbs) == 0 {
			c.appendParsedArgs(spec.ParseArgs(texts[from:]), from)
			return c
		}
		head := spec
		head.Stop = 1
		parsed := head.ParseArgs(texts[from:])
		verb := (*programEntry)(nil)
		if len(parsed.Operands) > 0 {
			verb = cmp.Or(c.entry.verbs[texts[from+parsed.Operands[0]]], c.entry.verbs["*"])
		}
		if verb == nil {
			c.appendParsedArgs(spec.ParseArgs(texts[from:]), from)
			return c
		}
		at := parsed.Operands[0]
		parsed.Operands = parsed.Operands[:1]
		c.appendParsedArgs(parsed, from)
		c.entry, from, c.verbCount = verb, from+at+1, c.verbCount+1
	}
}

func unknownProgramUses(args []shell.Argument) []ArgumentUse {
	c := parseProgramCall(anyProgramName, shell.ArgumentTexts(args))
	c.args = args
	return c.usesFromEntry()
}

// appendParsedArgs appends arguments parsed from a part of the command line that begins at from. It adds from to their
// indexes.
func (c *programCall) appendParsedArgs(parsed getopt.ParsedArgs, from int) {
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
func (c *programCall) operandIndexes() []int { return c.parsed.Operands[c.verbCount:] }

// verbName returns the first word of the verb, or "".
func (c *programCall) verbName() string {
	if c.verbCount == 0 {
		return ""
	}
	return c.texts[c.parsed.Operands[0]]
}

// usesFromEntry returns the uses that the data describes, without a handler.
func (c *programCall) usesFromEntry() []ArgumentUse {
	return resolveRelativePaths(c.appendStdinUse(c.appendOperandUses(c.optionUses(), c.operandIndexes())))
}

// optionUses returns the uses of all options.
func (c *programCall) optionUses() []ArgumentUse {
	uses := make([]ArgumentUse, 0, len(c.args)+1)
	for _, opt := range c.parsed.Options {
		uses = c.appendOptionUses(uses, opt)
	}
	return uses
}

func (c *programCall) appendOptionUses(uses []ArgumentUse, opt getopt.ParsedOption) []ArgumentUse {
	general := loadTable()[anyProgramName].optionSpec().Values[opt.Name]
	switch {
	case optionHasRole(opt, Command):
		if argv := c.commandAfterOption(opt); len(argv) > 0 {
			uses = append(uses, ArgumentUse{Kind: Command, Argv: replaceItemPlaceholders(argv, "{}")})
		}
		return uses
	case opt.Roles == "" && opt.Has && general != "":
		return append(uses, c.newUse(ArgumentKind(general[0]), opt.Value, false))
	case opt.Roles == "" && opt.Has && c.args[opt.Arg].Text[0] == '/':
		return append(uses, ArgumentUse{Kind: Path, Text: opt.Value})
	case opt.Roles == "" && opt.Has:
		return append(uses, wholeArgumentUse(Path, c.args[opt.Arg]))
	case opt.Roles == "" && len(opt.Name) == 2 && opt.First:
		// A cluster of flags can be an unknown option with an attached path, as in -I/usr/include.
		if text := c.args[opt.Arg].Text; strings.HasPrefix(text, opt.Name) && isPathLike(text[2:]) {
			uses = append(uses, ArgumentUse{Kind: Path, Text: text[2:]})
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
			uses = append(uses, c.newUse(ArgumentKind(letter), value, glob))
		}
	}
	return uses
}

// optionHasRole reports whether an option has exactly one value, with the role kind.
func optionHasRole(opt getopt.ParsedOption, kind ArgumentKind) bool {
	return opt.Roles == string(rune(kind))
}

// isPathLike reports whether the rest of a flag cluster may be a path rather than flags.
func isPathLike(text string) bool { return strings.ContainsAny(text, "/.~") || shell.HasUnknown(text) }

// commandAfterOption returns the command that follows an option such as -exec.
func (c *programCall) commandAfterOption(opt getopt.ParsedOption) []shell.Argument {
	switch {
	case opt.Has:
		return append(shell.PlainArguments(opt.Value), c.args[opt.Arg+1:]...)
	case c.parsed.Rest == 0:
		return nil
	}
	argv := c.args[c.parsed.Rest:]
	if len(argv) > 1 && argv[1].Text == "--" {
		return append([]shell.Argument{argv[0]}, argv[2:]...)
	}
	return argv
}

func (c *programCall) appendOperandUses(uses []ArgumentUse, at []int) []ArgumentUse {
	skip := 0
	if c.entry.Unless != "" && c.parsed.HasOption(strings.Fields(string(c.entry.Unless))...) {
		skip = 1
	}
	for n, i := range at {
		r := c.entry.findOperandRole(n, len(at), skip)
		arg := c.args[i]
		switch {
		case r.kind == Command && strings.Contains(arg.Text, " "):
			// Program names have no spaces: the text is a shell command.
			return append(uses, shellCodeUse(strings.Join(shell.ArgumentTexts(c.args[i:]), " ")))
		case r.kind == Command:
			return append(uses, ArgumentUse{Kind: Command, Argv: c.args[i:]})
		case r.kind == Code && !r.repeats && n+skip == len(c.entry.roles)-1:
			// The rest of the words is one shell command.
			return append(uses, c.newUse(Code, strings.Join(shell.ArgumentTexts(c.args[i:]), " "), false))
		case r.kind == Path && c.entry.optionSpec().Stop > 0 && c.name != anyProgramName:
			return append(uses, unknownProgramUses(c.args[i:])...) // arguments of a script
		case r.kind == Path && i > 0 && c.anyProgramOptionKind(c.args[i-1].Text) == Data:
			uses = append(uses, ArgumentUse{Kind: Data, Text: arg.Text, Glob: arg.Glob})
		default:
			uses = append(uses, c.newUse(r.kind, arg.Text, arg.Glob))
		}
	}
	return uses
}

// anyProgramOptionKind returns the kind of the value of an option that only the entry for all programs has, or Path.
func (c *programCall) anyProgramOptionKind(option string) ArgumentKind {
	if roles := loadTable()[anyProgramName].optionSpec().Values[option]; roles != "" && c.entry.optionSpec().Values[option] == "" {
		return ArgumentKind(roles[0])
	}
	return Path
}

// newUse returns a use. Code, Script and Input get the language of the entry.
func (c *programCall) newUse(kind ArgumentKind, text string, glob bool) ArgumentUse {
	u := ArgumentUse{Kind: kind, Text: text, Glob: glob}
	if kind == Script && text == "-" {
		u = ArgumentUse{Kind: Input}
	}
	if u.Kind == Code || u.Kind == Script || u.Kind == Input {
		u.Lang = cmp.Or(c.entry.Lang, "sh")
	}
	return u
}

// appendStdinUse appends a use of standard input as code, if the program reads code from it and no argument is code.
func (c *programCall) appendStdinUse(uses []ArgumentUse) []ArgumentUse {
	if c.entry.Input == "" {
		return uses
	}
	for _, u := range uses {
		if u.Kind == Code || u.Kind == Script || u.Kind == Command || u.Kind == Input {
			return uses
		}
	}
	return append(uses, ArgumentUse{Kind: Input, Lang: c.entry.Input})
}

// resolveRelativePaths makes paths after an Enter use relative to the directory that the program enters.
func resolveRelativePaths(uses []ArgumentUse) []ArgumentUse {
	dir := ""
	for i := range uses {
		switch u := &uses[i]; u.Kind {
		case Enter:
			u.Text = joinPath(dir, u.Text)
			dir = u.Text
		case Path, Read, Write, List, Delete, Script:
			u.Text = joinPath(dir, u.Text)
		case Command:
			u.Dir = cmp.Or(u.Dir, dir)
		}
	}
	return uses
}

// joinPath returns path relative to dir. It does not change options and absolute, remote and home paths.
func joinPath(dir, path string) string {
	if dir == "" || path == "" || path[0] == '/' || path[0] == '~' || path[0] == '-' || IsRemoteFile(path) ||
		strings.HasPrefix(path, "file:") {
		return path
	}
	return strings.TrimSuffix(dir, "/") + "/" + path
}

// replaceItemPlaceholders replaces a placeholder such as {} in a command by shell.Item.
func replaceItemPlaceholders(argv []shell.Argument, mark string) []shell.Argument {
	out := make([]shell.Argument, len(argv))
	for i, f := range argv {
		out[i] = shell.Argument{Text: strings.ReplaceAll(f.Text, mark, shell.Item), Glob: f.Glob}
	}
	return out
}
