package guard

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// compiled are languages whose programs are only looked through for commands that stand in them: much else that is in them is for
// other days.
var compiled = map[string]bool{"go": true, "c": true, "java": true}

// found decides on the files that a program runs without being told, as far as the same command line has written them.
func (a *analysis) found(c *shell.Call, files []programs.Use) {
	for _, file := range files {
		ending, any := strings.CutPrefix(file.Text, "*")
		if file.Home {
			file.Text = a.homeOf(c, file.Text)
		}
		if !any {
			a.script(c, file.Text, file.Lang, file.Params)
			continue
		}
		for _, name := range c.Writings(func(name string) bool { return strings.HasSuffix(name, ending) }) {
			a.imported(c, name, file)
		}
	}
}

// importing is a file that is being followed since a program may import it, with what surrounds that program.
type importing struct {
	file         string
	surroundings uint64
}

// imported decides on a file that a program may import. A file that starts the program that imports it does nothing new in the same
// surroundings.
func (a *analysis) imported(c *shell.Call, name string, file programs.Use) {
	this := importing{file.Lang + ":" + name, c.Surroundings()}
	if slices.Contains(a.importing, this) {
		return
	}
	a.importing = append(a.importing, this)
	a.script(c, name, file.Lang, file.Params)
	a.importing = a.importing[:len(a.importing)-1]
}

// reads says whether one of the arguments of a command is a file that the line wrote.
func reads(c *shell.Call) bool {
	return c.Wrote() && slices.ContainsFunc(c.Argv[1:], func(f shell.Field) bool {
		_, ok := c.Written(f.Text)
		return ok
	})
}

// maxMade is how many bytes of makefiles, and of files that SQL names, are followed; make may start make.
const maxMade = 64 << 10

// perIncluded is what each file that SQL names counts besides, as such may name each other.
const perIncluded = 1 << 10

// use decides on one argument by what it is for.
func (a *analysis) use(c *shell.Call, name string, u programs.Use) {
	if u.Dir != "" {
		at := c.In(u.Dir)
		defer c.Keep(at)
		c = at
	}
	argv := c.Texts()
	if u.Away {
		before := a.paths
		a.paths = false
		defer func() { a.paths = before }()
	}
	if u.Home {
		u.Text = a.home(c, "~/"+u.Text)
	}
	switch u.Kind {
	case programs.Read:
		a.path(&c.Place, Read, u.Text, u.Glob, argv)
	case programs.Write:
		a.path(&c.Place, Write, u.Text, u.Glob, argv)
		a.moved = a.moved || name == "mv" && strings.Contains(u.Text, shell.Temporary)
		a.wrote(c, name, u.Text)
	case programs.List, programs.Enter:
		a.path(&c.Place, List, u.Text, u.Glob, argv)
	case programs.Remove:
		a.path(&c.Place, Delete, u.Text, u.Glob, argv)
	case programs.Shape:
		a.shape(c, name, u.Text, u.Glob)
	case programs.Script:
		a.path(&c.Place, Read, u.Text, u.Glob, argv)
		a.script(c, u.Text, u.Lang, u.Params)
	case programs.Code:
		a.code(c, u.Lang, u.Text, u.Params)
	case programs.Input:
		a.input(c, u)
	case programs.Command:
		a.start(c, name, u)
	}
}

// start follows a command that the program starts.
func (a *analysis) start(c *shell.Call, name string, u programs.Use) {
	if !u.Items {
		c.Output = c.Exec(name, u.Argv, u.Env)
		return
	}
	items := []string{shell.Unknown}
	input := c.Stdin
	if u.From != "" {
		input, _ = c.Written(u.From)
	}
	if !foreign(input.From.Names()) {
		items[0] = shell.Item
	}
	if input.Known {
		items = itemsOf(input.Text, u.Between)
	}
	argv := append([]shell.Field(nil), u.Argv...)
	if u.Text == "" {
		for n, item := range items {
			if u.Each && n < maxItems {
				c.Pipe(name, append(argv[:len(u.Argv):len(u.Argv)], shell.Field{Text: item}), shell.Stream{})
			}
			argv = append(argv, shell.Field{Text: item})
		}
		c.Pipe(name, argv, shell.Stream{})
		return
	}
	if input.Known {
		items = linesOf(input.Text, u.Between)
	}
	for n, item := range items {
		if n == maxItems {
			break
		}
		each := make([]shell.Field, len(argv))
		for i, f := range argv {
			each[i] = shell.Field{Text: strings.ReplaceAll(f.Text, u.Text, item), Glob: f.Glob}
		}
		c.Pipe(name, each, shell.Stream{})
	}
}

// maxItems is how many items are followed one by one.
const maxItems = 16

// linesOf are the items in a text that xargs reads line by line: quotes and backslashes count, blanks don't separate.
func linesOf(text, between string) (items []string) {
	if between != "" {
		return itemsOf(text, between)
	}
	for _, line := range strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\x00", "\n")), "\n") {
		line = strings.TrimLeft(line, " \t")
		if strings.ContainsAny(line, `'"\`) {
			line = strings.Join(itemsOf(blanks.Replace(line), ""), "")
			line = strings.ReplaceAll(line, "\x01", " ")
		}
		items = append(items, line)
	}
	return items
}

// blanks stands something for blanks that no command has in it.
var blanks = strings.NewReplacer(" ", "\x01", "\t", "\x01")

// itemsOf are the items in a text that xargs reads: words, in which quotes and backslashes count, or what a separator stands between.
func itemsOf(text, between string) (items []string) {
	text = strings.ReplaceAll(text, "\x00", "\n")
	if between != "" {
		for _, item := range strings.Split(strings.TrimSuffix(text, "\n"), between) {
			if item != "" {
				items = append(items, item)
			}
		}
		return items
	}
	if !strings.ContainsAny(text, `'"\`) {
		return strings.Fields(text)
	}
	var word strings.Builder
	in, any := byte(0), false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case in != 0 && c == in:
			in = 0
		case in != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			in, any = c, true
		case c == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			any = true
		case c == ' ' || c == '\t' || c == '\n':
			if any {
				items = append(items, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteByte(c)
			any = true
		}
	}
	if any {
		items = append(items, word.String())
	}
	return items
}
