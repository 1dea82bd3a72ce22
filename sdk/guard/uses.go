package guard

import (
	"path"
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/lang"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// use decides on one argument by what it is for.
func (a *analysis) use(c *shell.Call, name string, u programs.Use) {
	argv := shell.Texts(c.Argv)
	switch u.Kind {
	case programs.Read:
		a.path(&c.Place, Read, u.Text, u.Glob, argv)
	case programs.Write:
		a.path(&c.Place, Write, u.Text, u.Glob, argv)
		a.wrote(c, name, u.Text)
	case programs.List, programs.Enter:
		a.path(&c.Place, List, u.Text, u.Glob, argv)
	case programs.Delete:
		a.path(&c.Place, Delete, u.Text, u.Glob, argv)
	case programs.Path:
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
		dir := ""
		if u.Dir != "" {
			dir = u.Dir
			if !strings.HasPrefix(dir, "/") {
				dir = c.Dir + "/" + dir
			}
		}
		c.Output = c.Exec(name, u.Argv, u.Env, dir)
		return
	}
	items := []string{shell.Unknown}
	if !foreign(c.Stdin.From) {
		items[0] = shell.Item
	}
	if c.Stdin.Known {
		items = strings.Fields(strings.ReplaceAll(c.Stdin.Text, "\x00", "\n"))
	}
	argv := append([]shell.Field(nil), u.Argv...)
	if u.Text == "" {
		for _, item := range items {
			argv = append(argv, shell.Field{Text: item})
		}
		c.Pipe(name, argv, shell.Stream{})
		return
	}
	if c.Stdin.Known {
		items = strings.Split(strings.TrimSpace(c.Stdin.Text), "\n")
	}
	for n, item := range items {
		if n == 16 {
			break
		}
		each := make([]shell.Field, len(argv))
		for i, f := range argv {
			each[i] = shell.Field{Text: strings.ReplaceAll(f.Text, u.Text, item), Glob: f.Glob}
		}
		c.Pipe(name, each, shell.Stream{})
	}
}

// code decides on code in any language.
func (a *analysis) code(c *shell.Call, language, text string, params []string) {
	switch {
	case language == "sh":
		c.Output = c.Code(text, params)
		return
	case language == "cmd" || language == "powershell":
		a.windowsLine(c, language, text)
		return
	case language != "sed" && shell.HasUnknown(text) && strings.IndexFunc(text, unicode.IsLetter) < 0:
		a.hard(c, "exec.dynamic", "the "+language+" code is only known when it runs")
		return
	}
	for _, e := range lang.Effects(language, text) {
		a.effect(c, language, e)
	}
}

// effect decides on something that code does.
func (a *analysis) effect(c *shell.Call, language string, e lang.Effect) {
	argv := shell.Texts(c.Argv)
	switch e.Kind {
	case lang.Shell:
		if e.Fed {
			c.Feed(e.Text, shell.Stream{Piped: true, From: []string{language}})
			return
		}
		c.Code(e.Text, nil)
	case lang.Argv:
		fields := make([]shell.Field, len(e.Argv))
		for i, word := range e.Argv {
			fields[i] = shell.Field{Text: word}
		}
		c.Pipe(language, fields, shell.Stream{})
	case lang.Dynamic:
		a.soft(c, Ask, "exec.dynamic", e.Text, saferPlain)
	case lang.Read:
		a.path(&c.Place, Read, e.Text, false, argv)
	case lang.Write, lang.Path:
		a.path(&c.Place, Write, a.home(c, e.Text), false, argv)
	case lang.Delete:
		a.soft(c, Deny, "exec.rm-recursive", e.Text+" deletes directories with everything in them", "")
	case lang.Kill:
		a.soft(c, Deny, "exec.kill-9", "the code kills processes without letting them finish", "")
	case lang.Mode:
		a.soft(c, Deny, "exec.chown", e.Text+" changes whose files or rights they are", "")
	case lang.ForkBomb:
		a.hard(c, "exec.fork-bomb", "the code multiplies without end: "+e.Text)
	case lang.Remote:
		a.hard(c, "exec.remote-shell", "the code connects a command with another machine: "+e.Text)
	}
}

// input decides on a program that runs its standard input as code.
func (a *analysis) input(c *shell.Call, u programs.Use) {
	switch {
	case c.Stdin.Known:
		a.code(c, u.Lang, c.Stdin.Text, u.Params)
	case c.Stdin.File != "" && !ownInput(c.Stdin.File):
		a.script(c, c.Stdin.File, u.Lang, u.Params)
	case c.Stdin.Piped && u.Lang != "vim" && u.Lang != "sql" && u.Lang != "sed":
		a.soft(c, Deny, "exec.pipe-to-shell", "it runs what another command prints: "+strings.Join(c.Stdin.From, ", "), saferSaved)
	}
}

// script decides on a file that is run as code, as far as the same command line has written it.
func (a *analysis) script(c *shell.Call, file, language string, params []string) {
	if ownInput(file) {
		a.input(c, programs.Use{Lang: language, Params: params})
		return
	}
	content, written := c.Written(file)
	switch {
	case !written:
	case content.Known:
		a.code(c, language, content.Text, params)
	case strings.HasPrefix(file, "/dev/fd/") || foreign(content.From):
		a.soft(c, Deny, "exec.download-run", "it runs what another command has just made: "+strings.Join(content.From, ", "), saferSaved)
	}
}

// foreign says whether one of the commands that made a text fetches or decodes it.
func foreign(from []string) bool {
	for _, name := range from {
		switch name {
		case "curl", "wget", "nc", "ncat", "base64", "base32", "xxd", "openssl", "gpg", "http", "https", "xh", "aria2c", "fetch", "lynx", "w3m", "uudecode", "several ways", "invoke-webrequest", "iwr", "tr", "rev":
			return true
		}
	}
	return false
}

// fetched remembers the files that curl -O and wget name after their URLs, for when the line runs them.
func fetched(c *shell.Call, name string) {
	for _, f := range c.Argv[1:] {
		if base := path.Base(f.Text); (programs.Remote(f.Text) || name == "wget" && strings.Contains(f.Text, "/")) && !strings.HasPrefix(f.Text, "-") && base != "." && base != "/" {
			c.Write(base, shell.Stream{Piped: true, From: []string{name}})
		}
	}
}

// listed decides on the paths that a program reads from its standard input, where they are known.
func (a *analysis) listed(c *shell.Call) {
	if !c.Stdin.Known {
		return
	}
	for _, line := range strings.Split(c.Stdin.Text, "\n") {
		a.path(&c.Place, Read, line, false, shell.Texts(c.Argv))
	}
}

// wrote remembers files that programs fetch or make, for when the line runs them.
func (a *analysis) wrote(c *shell.Call, name, file string) {
	switch name {
	case "curl", "wget", "aria2c", "axel", "scp", "nc", "openssl", "http", "https", "xh", "base64", "gpg":
		c.Write(file, shell.Stream{Piped: true, From: []string{name}})
	case "tee":
		c.Write(file, c.Stdin)
	case "cp", "mv", "install", "ln", "gunzip", "unzip":
		for _, f := range c.Argv[1:] {
			if f.Text == "/dev/stdin" {
				c.Write(file, c.Stdin)
			}
			if content, ok := c.Written(f.Text); ok && f.Text != file {
				c.Write(file, content)
			}
		}
	}
}

// ownInput reports whether a path names the standard input of the process that opens it.
func ownInput(file string) bool {
	return file == "/dev/stdin" || file == "/dev/fd/0" || file == "/proc/self/fd/0"
}
