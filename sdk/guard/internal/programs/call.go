package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// call is a program with its arguments, taken apart.
type call struct {
	name   string
	args   []shell.Field
	texts  []string // of the arguments
	entry  *entry   // of the program, or of the verb
	parsed getopt.Args
	verbs  int // how many of the operands are verbs
}

// unknown is the name under which the data say what holds for all programs.
const unknown = "*"

// parse takes arguments apart: options in front of a verb are the program's, those behind it are the verb's, too.
func parse(name string, texts []string) call {
	c := call{name: name, texts: texts, entry: table()[name]}
	if c.entry == nil {
		c.entry = table()[unknown]
	}
	for from := 0; ; {
		spec := c.entry.spec()
		if len(c.entry.verbs) == 0 {
			c.add(spec.Parse(texts[from:]), from)
			return c
		}
		head := spec
		head.Stop = 1
		parsed := head.Parse(texts[from:])
		verb := (*entry)(nil)
		if len(parsed.Operands) > 0 {
			if verb = c.entry.verbs[texts[from+parsed.Operands[0]]]; verb == nil {
				verb = c.entry.verbs["*"]
			}
		}
		if verb == nil {
			c.add(spec.Parse(texts[from:]), from)
			return c
		}
		at := parsed.Operands[0]
		parsed.Operands = parsed.Operands[:1]
		c.add(parsed, from)
		c.entry, from, c.verbs = verb, from+at+1, c.verbs+1
	}
}

// plain are the uses of arguments of a program that isn't known.
func plain(args []shell.Field) []Use {
	c := parse(unknown, shell.Texts(args))
	c.args = args
	return c.uses()
}

// add adds arguments that were taken apart from the given one on.
func (c *call) add(parsed getopt.Args, from int) {
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

// operands are the indexes of the operands behind the verbs.
func (c *call) operands() []int { return c.parsed.Operands[c.verbs:] }

// verb is the first word of the program's verb.
func (c *call) verb() string {
	if c.verbs == 0 {
		return ""
	}
	return c.texts[c.parsed.Operands[0]]
}

// uses is what the data say.
func (c *call) uses() []Use {
	uses := make([]Use, 0, len(c.args)+1)
	for _, opt := range c.parsed.Options {
		uses = c.option(uses, opt)
	}
	return based(c.input(c.operandUses(uses, c.operands())))
}

// option adds what an option's values are for.
func (c *call) option(uses []Use, opt getopt.Option) []Use {
	general := table()[unknown].spec().Values[opt.Name]
	switch {
	case is(opt, Command):
		if argv := c.rest(opt); len(argv) > 0 {
			uses = append(uses, Use{Kind: Command, Argv: placeholders(argv, "{}")})
		}
		return uses
	case opt.Roles == "" && opt.Has && general != "":
		return append(uses, c.use(Kind(general[0]), opt.Value, false))
	case opt.Roles == "" && opt.Has && c.args[opt.Arg].Text[0] == '/':
		return append(uses, Use{Kind: Path, Text: opt.Value})
	case opt.Roles == "" && opt.Has:
		return append(uses, field(Path, c.args[opt.Arg]))
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
			uses = append(uses, c.use(Kind(letter), value, glob))
		}
	}
	return uses
}

// is reports whether the value of an option has a role.
func is(opt getopt.Option, kind Kind) bool { return opt.Roles == string(rune(kind)) }

// isPathLike reports whether the rest of a cluster may be a path, and not only more flags.
func isPathLike(text string) bool { return strings.ContainsAny(text, "/.~") || shell.HasUnknown(text) }

// rest is the command that an option announces.
func (c *call) rest(opt getopt.Option) []shell.Field {
	switch {
	case opt.Has:
		return append(words(opt.Value), c.args[opt.Arg+1:]...)
	case c.parsed.Rest == 0:
		return nil
	}
	argv := c.args[c.parsed.Rest:]
	if len(argv) > 1 && argv[1].Text == "--" {
		return append([]shell.Field{argv[0]}, argv[2:]...)
	}
	return argv
}

// operandUses adds what operands are for.
func (c *call) operandUses(uses []Use, at []int) []Use {
	skip := 0
	if c.entry.Unless != "" && c.parsed.Has(strings.Fields(string(c.entry.Unless))...) {
		skip = 1
	}
	for n, i := range at {
		r := c.entry.role(n, len(at), skip)
		arg := c.args[i]
		switch {
		case r.kind == Command && strings.Contains(arg.Text, " "):
			// No program is called so: it is for a shell.
			return append(uses, sh(strings.Join(shell.Texts(c.args[i:]), " ")))
		case r.kind == Command:
			return append(uses, Use{Kind: Command, Argv: c.args[i:]})
		case r.kind == Code && !r.repeat && n+skip == len(c.entry.roles)-1:
			// A shell gets the words that are left as one.
			return append(uses, c.use(Code, strings.Join(shell.Texts(c.args[i:]), " "), false))
		case r.kind == Path && c.entry.spec().Stop > 0 && c.name != unknown:
			return append(uses, plain(c.args[i:])...) // arguments of a script
		case r.kind == Path && i > 0 && c.general(c.args[i-1].Text) == Data:
			uses = append(uses, Use{Kind: Data, Text: arg.Text, Glob: arg.Glob})
		default:
			uses = append(uses, c.use(r.kind, arg.Text, arg.Glob))
		}
	}
	return uses
}

// general is what the value of an option is for that the program's data don't know, but those of all programs.
func (c *call) general(option string) Kind {
	if roles := table()[unknown].spec().Values[option]; roles != "" && c.entry.spec().Values[option] == "" {
		return Kind(roles[0])
	}
	return Path
}

// use is one use, with the language of the entry.
func (c *call) use(kind Kind, text string, glob bool) Use {
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

// input adds that the program runs its standard input, if nothing else tells it what to run.
func (c *call) input(uses []Use) []Use {
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

// based makes the paths behind a directory that the program changes to count from there.
func based(uses []Use) []Use {
	dir := ""
	for i := range uses {
		switch u := &uses[i]; u.Kind {
		case Enter:
			u.Text = join(dir, u.Text)
			dir = u.Text
		case Path, Read, Write, List, Delete, Script:
			u.Text = join(dir, u.Text)
		case Command:
			if u.Dir == "" {
				u.Dir = dir
			}
		}
	}
	return uses
}

// join is a path that counts from a directory.
func join(dir, path string) string {
	if dir == "" || path == "" || path[0] == '/' || path[0] == '~' || path[0] == '-' || Remote(path) ||
		strings.HasPrefix(path, "file:") {
		return path
	}
	return strings.TrimSuffix(dir, "/") + "/" + path
}

// placeholders replaces what a program replaces by file names.
func placeholders(argv []shell.Field, mark string) []shell.Field {
	out := make([]shell.Field, len(argv))
	for i, f := range argv {
		out[i] = shell.Field{Text: strings.ReplaceAll(f.Text, mark, shell.Item), Glob: f.Glob}
	}
	return out
}
