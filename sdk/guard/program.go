package guard

import (
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// systemBins are the directories whose programs may be named by their full path.
var systemBins = map[string]bool{
	"/bin": true, "/sbin": true, "/usr/bin": true, "/usr/sbin": true, "/usr/local/bin": true, "/usr/local/sbin": true,
	"/usr/local/go/bin": true, "/opt/homebrew/bin": true, "/snap/bin": true, "/usr/games": true, "/" + shell.Program: true,
}

// program decides on the program's own path.
func (a *analysis) program(c *shell.Call, argv []string) {
	word := c.Argv[0].Text
	if !strings.Contains(word, "/") {
		if c.Wrote() {
			a.run(c, onPath(c, word))
		}
		return
	}
	if systemBins[filepath.Dir(filepath.Clean(word))] {
		return
	}
	a.path(&c.Place, Read, word, false, argv)
	a.run(c, word)
}

// onPath is the file that the same command line has written and that a command's name stands for, if its search path says so; or
// else "".
func onPath(c *shell.Call, name string) string {
	search, ok := c.Env["PATH"]
	if !ok {
		search, _ = c.Lookup("PATH")
	}
	for _, dir := range filepath.SplitList(search) {
		if dir == "" {
			dir = "." // as every shell reads it
		}
		file := dir + "/" + name
		if _, written := c.Written(file); written && !shell.HasUnknown(dir) {
			return file
		}
	}
	return ""
}

// run decides on a file that is started, as far as the same command line has written it: what its first line names gets it, or
// a shell.
func (a *analysis) run(c *shell.Call, file string) {
	if file == "" {
		return
	}
	content, _ := c.Written(file)
	first, _, _ := strings.Cut(content.Text, "\n")
	interpreter, ok := strings.CutPrefix(first, "#!")
	if !content.Known || !ok {
		a.script(c, file, "sh", append([]string{file}, c.Texts()[1:]...))
		return
	}
	// The system cuts it at the first space only.
	program, argument, _ := strings.Cut(strings.TrimSpace(interpreter), " ")
	argv := []shell.Field{{Text: program}}
	if argument = strings.TrimSpace(argument); argument != "" {
		argv = append(argv, shell.Field{Text: argument})
	}
	argv = append(append(argv, shell.Field{Text: file}), c.Argv[1:]...)
	c.Output = c.Exec(shell.Name(file), argv, c.Env)
}

// starters are the commands that are looked for behind a program that isn't understood: it may start them.
var starters = map[string]bool{
	"rm": true, "sudo": true, "su": true, "doas": true, "dd": true, "mkfs": true, "shutdown": true, "reboot": true, "poweroff": true, "pkill": true, "killall": true,
	"chown": true, "chmod": true, "kill": true, "ssh": true, "docker": true, "bash": true, "sh": true, "zsh": true, "find": true, "git": true,
}

// guess looks for a command among the arguments of a program whose arguments nobody knows the meaning of. What it is known to
// write is none, nor is the value of a long option that names something.
func (a *analysis) guess(c *shell.Call, uses []programs.Use) {
	var known map[string]programs.Kind
	for i, f := range c.Argv[1:] {
		if i+2 < len(c.Argv) && starters[shell.Name(f.Text)] || strings.HasPrefix(f.Text, "mkfs.") {
			if known == nil {
				known = make(map[string]programs.Kind, len(uses))
				for _, u := range uses {
					known[u.Text] = u.Kind
				}
			}
			if kind := known[f.Text]; kind == programs.Write || kind == programs.Data && strings.HasPrefix(c.Argv[i].Text, "--") {
				continue
			}
			before := a.guessing
			a.guessing = true
			c.Exec(shell.Name(c.Argv[0].Text), c.Argv[i+1:], nil)
			a.guessing = before
			return
		}
	}
}
