package guard

import (
	"path"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// maxArguments is how many arguments of all commands are looked at.
const maxArguments = 1 << 14

// uses decides on the arguments of a program. A command that it starts starts where the program has changed to.
func (a *analysis) uses(c *shell.Call, name string) {
	dir, argv := "", shell.FieldTexts(c.Argv)
	if a.arguments += len(argv); a.arguments > maxArguments {
		a.VisitProblem(&c.Place, shell.Problem{Kind: shell.TooComplex, Reason: "the command has too many arguments to look at"})
		return
	}
	before := a.away
	defer func() { a.away = before }()
	a.away = before || !stays[name]
	for _, u := range programs.FindUses(name, c.Argv[1:]) {
		switch {
		case u.Kind == programs.Enter:
			dir, a.away = u.Text, true
		case u.Kind == programs.Command && u.Dir == "":
			u.Dir = dir
		}
		a.use(c, name, argv, u)
	}
}

// use decides on one argument by what it is for.
func (a *analysis) use(c *shell.Call, name string, argv []string, u programs.Use) {
	switch u.Kind {
	case programs.Read:
		a.path(&c.Place, Read, u.Text, u.Glob, argv)
	case programs.Write:
		a.path(&c.Place, Write, u.Text, u.Glob, argv)
		wrote(c, name, u.Text)
	case programs.List, programs.Enter:
		a.path(&c.Place, List, u.Text, u.Glob, argv)
	case programs.Delete:
		a.path(&c.Place, Delete, u.Text, u.Glob, argv)
	case programs.Path:
		a.argument(c, name, argv, u.Text, u.Glob)
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

// maxItems is how many lines of its input a command is followed for that another starts for each of them.
const maxItems = 16

// start follows a command that the program starts.
func (a *analysis) start(c *shell.Call, name string, u programs.Use) {
	if !u.Items {
		dir := u.Dir
		if dir != "" && !strings.HasPrefix(dir, "/") {
			dir = c.Dir + "/" + dir
		}
		c.Output = c.InterpretCommand(name, u.Argv, u.Env, dir)
		return
	}
	items := []string{shell.Item}
	if foreign(c.Stdin.From) {
		items[0] = shell.Unknown
	}
	switch {
	case c.Stdin.Known && u.Text == "":
		items = strings.Fields(strings.ReplaceAll(c.Stdin.Text, "\x00", "\n"))
	case c.Stdin.Known:
		items = strings.Split(strings.TrimSpace(c.Stdin.Text), "\n")
	}
	if u.Text == "" {
		argv := append([]shell.Field(nil), u.Argv...)
		for _, item := range items {
			argv = append(argv, shell.Field{Text: item})
		}
		c.InterpretPiped(name, argv, shell.Stream{})
		return
	}
	for _, item := range items[:min(len(items), maxItems)] {
		each := make([]shell.Field, len(u.Argv))
		for i, f := range u.Argv {
			each[i] = shell.Field{Text: strings.ReplaceAll(f.Text, u.Text, item), Glob: f.Glob}
		}
		c.InterpretPiped(name, each, shell.Stream{})
	}
}

// foreign reports whether one of the commands that made a text fetches or decodes it.
func foreign(from []string) bool {
	for _, name := range from {
		switch name {
		case "curl", "wget", "nc", "ncat", "http", "https", "xh", "aria2c", "fetch", "lynx", "w3m", "invoke-webrequest",
			"iwr",
			"base64", "base32", "xxd", "openssl", "gpg", "uudecode", "tr", "rev":
			return true
		}
	}
	return false
}

// fetched remembers the files that curl -O and wget name after their URLs, for when the text runs them.
func fetched(c *shell.Call, name string) {
	for _, f := range c.Argv[1:] {
		base := path.Base(f.Text)
		url := programs.IsRemote(f.Text) || name == "wget" && strings.Contains(f.Text, "/")
		if url && !strings.HasPrefix(f.Text, "-") && base != "." && base != "/" {
			c.RecordWrite(base, shell.Stream{Piped: true, From: []string{name}})
		}
	}
}

// wrote remembers files that programs fetch or make, for when the text runs them.
func wrote(c *shell.Call, name, file string) {
	switch {
	case name == "tee":
		c.RecordWrite(file, c.Stdin)
	case foreign([]string{name}), name == "axel", name == "scp":
		c.RecordWrite(file, shell.Stream{Piped: true, From: []string{name}})
	case name == "cp", name == "mv", name == "install", name == "ln", name == "gunzip", name == "unzip":
		for _, f := range c.Argv[1:] {
			if f.Text == "/dev/stdin" {
				c.RecordWrite(file, c.Stdin)
			}
			if content, ok := c.WrittenContent(f.Text); ok && f.Text != file {
				c.RecordWrite(file, content)
			}
		}
	}
}

// listed decides on the paths that a program reads from its standard input, where they are known.
func (a *analysis) listed(c *shell.Call) {
	if !c.Stdin.Known {
		return
	}
	for _, line := range strings.Split(c.Stdin.Text, "\n") {
		a.path(&c.Place, Read, line, false, shell.FieldTexts(c.Argv))
	}
}

// listsInput reports whether a program reads names of files from its standard input.
func listsInput(argv []string) bool {
	switch argv[0] {
	case "cpio", "pax", "afio":
		return true
	case "zip", "tar", "rsync", "wc", "du", "cat", "sort":
	default:
		return false
	}
	for i, arg := range argv {
		before := argv[max(i-1, 0)]
		switch {
		case arg == "-@", strings.HasSuffix(arg, "-from=-"), strings.HasSuffix(arg, "-from=/dev/stdin"), arg == "-T-":
			return true
		case (arg == "-" || arg == "/dev/stdin") && i > 0 && (strings.HasSuffix(before, "T") || strings.HasSuffix(before,
			"-from")):
			return true
		}
	}
	return false
}
