// Package programs knows what the arguments of common programs are for: which are paths that are read or written,
// which are text, code in some language, or commands that the program starts.
//
// It knows only what the programs' manuals say. It must not know what is dangerous or what a policy allows.
package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// Kind says what an argument is for.
type Kind byte

// The kinds, which are also the letters of the tables.
const (
	Data    Kind = 'd' // text that names nothing
	Shape   Kind = 's' // unknown: what looks like a path is one
	Read    Kind = 'r' // a path that is read
	Write   Kind = 'w' // a path that is written
	List    Kind = 'l' // a directory that is listed
	Remove  Kind = 'x' // a path that is deleted
	Enter   Kind = 'g' // a directory that the program changes to
	Code    Kind = 'c' // code in the language Lang
	Command Kind = 'p' // from here on, a command that the program starts
	Script  Kind = 'k' // a file that the program runs as code
	Input   Kind = 'i' // the program runs its standard input as code in the language Lang
)

// Use is one argument, or part of one, and what it is for.
type Use struct {
	Kind   Kind
	Text   string
	Glob   bool
	Lang   string            // of Code and Input: "sh", "awk", "sed", "python" …
	Argv   []shell.Field     // of Command
	Env    map[string]string // of Command
	Dir    string            // of Command, if it isn't the caller's
	Params []string          // of Code: $0, $1, …
	Items  bool              // of Command: words of the standard input are appended
}

// program is one entry of the tables.
type program struct {
	names  string // separated by spaces
	opts   string // as getopt.Parse reads it; the letters are kinds
	args   string // kinds of the operands; "*" repeats one, what stands behind it are the last ones
	unless string // options that stand for the first operand, as -e does for grep's pattern
	lang   string // of its code
	style  string // "single", "stop" or "bare"; see getopt.Spec
	spec   getopt.Spec
	cut    []string // args, split
	flags  []string // unless, split
}

// table finds a program by its name.
var table = index()

func index() map[string]*program {
	m := map[string]*program{}
	for _, list := range [][]program{textPrograms, filePrograms, wrappers, netPrograms, devPrograms} {
		for i := range list {
			p := &list[i]
			p.spec = getopt.Parse(p.opts)
			p.spec.Single, p.spec.Stop, p.spec.Bare = p.style == "single", p.style == "stop", p.style == "bare"
			p.cut, p.flags = strings.Fields(p.args), strings.Fields(p.unless)
			for _, name := range strings.Fields(p.names) {
				m[name] = p
			}
		}
	}
	return m
}

// Options takes the arguments of a program apart as far as its options are known.
func Options(name string, args []string) getopt.Args {
	if p := table[name]; p != nil {
		return p.spec.Parse(args)
	}
	return getopt.Spec{}.Parse(args)
}

// Uses says what the arguments of a program are for. Args don't include the program's own name.
func Uses(name string, args []shell.Field) []Use {
	if special := handler(name); special != nil {
		return special(name, args)
	}
	if p := table[name]; p != nil {
		return p.uses(args)
	}
	return unknown(args)
}

// unknown is what is said of a program that no table has.
func unknown(args []shell.Field) []Use {
	uses := make([]Use, 0, len(args))
	data := false
	for _, arg := range args {
		option := strings.HasPrefix(arg.Text, "--")
		name, _, has := strings.Cut(arg.Text, "=")
		isData := option && dataOptions[name]
		switch {
		case data && !strings.HasPrefix(arg.Text, "-"), isData:
			uses = append(uses, Use{Kind: Data, Text: arg.Text, Glob: arg.Glob})
		case option && has && outputOptions[name]:
			uses = append(uses, Use{Kind: Write, Text: arg.Text[len(name)+1:]})
		default:
			uses = append(uses, Use{Kind: Shape, Text: arg.Text, Glob: arg.Glob})
		}
		data = isData && !has
	}
	return uses
}

// uses goes by the table.
func (p *program) uses(args []shell.Field) []Use {
	parsed := p.spec.Parse(shell.Texts(args))
	uses := make([]Use, 0, len(args))
	for _, opt := range parsed.Options {
		uses = p.option(uses, opt, args)
	}
	skip := 0
	if len(p.flags) > 0 && parsed.Has(p.flags...) {
		skip = 1
	}
	return p.operands(uses, parsed.Operands, skip, args)
}

// option adds what an option's values are for.
func (p *program) option(uses []Use, opt getopt.Option, args []shell.Field) []Use {
	switch {
	case opt.Roles == "" && opt.Has && dataOptions[opt.Name]:
		return uses
	case opt.Roles == "" && opt.Has && outputOptions[opt.Name]:
		return append(uses, Use{Kind: Write, Text: opt.Value})
	case opt.Roles == "" && opt.Has:
		return append(uses, Use{Kind: Shape, Text: opt.Value})
	case opt.Roles == "" && len(opt.Name) == 2:
		// A cluster of flags can be an unknown option with an attached path, as in -I/usr/include.
		if text := args[opt.Arg].Text; opt.First && strings.HasPrefix(text, opt.Name) && len(text) > 2 {
			uses = append(uses, Use{Kind: Shape, Text: text[2:]})
		}
		return uses
	case opt.Roles == "":
		return uses
	}
	for i, role := range []byte(opt.Roles) {
		value, glob := opt.Value, false
		if i > 0 {
			if opt.At+i >= len(args) {
				break
			}
			value, glob = args[opt.At+i].Text, args[opt.At+i].Glob
		}
		if opt.Has {
			uses = append(uses, p.use(Kind(role), value, glob))
		}
	}
	return uses
}

func (p *program) use(kind Kind, text string, glob bool) Use {
	u := Use{Kind: kind, Text: text, Glob: glob}
	if kind == Code {
		if u.Lang = p.lang; u.Lang == "" {
			u.Lang = "sh"
		}
	}
	return u
}

// operands adds what the operands are for; skip of the specified ones were given as options.
func (p *program) operands(uses []Use, at []int, skip int, args []shell.Field) []Use {
	cut := p.cut
	if skip < len(cut) {
		cut = cut[skip:]
	}
	for n, i := range at {
		role := "s"
		if tail := tailOf(cut); len(cut) > 0 {
			star := len(cut) - 1 - tail
			switch left := len(at) - n; {
			case tail > 0 && left <= tail && n >= star:
				role = cut[len(cut)-left]
			case n < star:
				role = cut[n]
			default:
				role = cut[star]
			}
		}
		if kind := Kind(role[0]); kind == Command {
			return append(uses, Use{Kind: Command, Argv: args[i:]})
		} else {
			uses = append(uses, p.use(kind, args[i].Text, args[i].Glob))
		}
	}
	return uses
}

// tailOf is how many roles stand behind the repeated one.
func tailOf(cut []string) int {
	for i, role := range cut {
		if strings.HasSuffix(role, "*") {
			return len(cut) - 1 - i
		}
	}
	return 0
}

// dataOptions are options whose value names nothing, whatever program they belong to.
var dataOptions = set(`--message --format --pretty --pattern --regex --regexp --grep --filter --title --body --description
	--query --header --url --exclude --include --ignore --name --label --prompt --text --template --match --test-name-pattern
	--expression --data --json --jq --selector --path-prefix --base-path --base-href --public-path --route --endpoint --notes --comment`)

// outputOptions are options whose value is a path that is written, whatever program they belong to.
var outputOptions = set(`--output --out --output-file --outfile --out-file --output-dir --outdir --out-dir --dest --destination
	--log-file --logfile --report --prefix --target-dir --save-to --write --export --dump`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, word := range strings.Fields(words) {
		m[word] = true
	}
	return m
}

// Understood says whether it is known what all operands of a program are for.
func Understood(name string) bool {
	if handler(name) != nil {
		return true
	}
	p := table[name]
	return p != nil && !strings.Contains(p.args, "s*")
}
