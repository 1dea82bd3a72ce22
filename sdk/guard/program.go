package guard

import (
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// systemBins are the directories whose programs may be named by their full path.
var systemBins = map[string]bool{
	"/bin": true, "/sbin": true, "/usr/bin": true, "/usr/sbin": true, "/usr/local/bin": true, "/usr/local/sbin": true,
	"/usr/local/go/bin": true, "/opt/homebrew/bin": true, "/snap/bin": true, "/usr/games": true,
}

// program decides on the program's own path.
func (a *analysis) program(c *shell.Call, argv []string) {
	word := c.Argv[0].Text
	if !strings.Contains(word, "/") || systemBins[filepath.Dir(filepath.Clean(word))] {
		return
	}
	a.path(&c.Place, Read, word, false, argv)
	a.script(c, word, "sh", nil)
}

// starters are the commands that are looked for behind a program that isn't understood: it may start them.
var starters = map[string]bool{
	"rm": true, "sudo": true, "su": true, "doas": true, "dd": true, "mkfs": true, "shutdown": true, "reboot": true, "poweroff": true, "pkill": true, "killall": true,
	"chown": true, "chmod": true, "kill": true, "ssh": true, "docker": true, "bash": true, "sh": true, "zsh": true, "find": true, "git": true,
}

// guess looks for a command among the arguments of a program whose arguments nobody knows the meaning of.
func (a *analysis) guess(c *shell.Call) {
	for i, f := range c.Argv[1:] {
		if starters[shell.Name(f.Text)] && i+2 < len(c.Argv) || strings.HasPrefix(f.Text, "mkfs.") {
			before := a.guessing
			a.guessing = true
			c.Exec(shell.Name(c.Argv[0].Text), c.Argv[i+1:], nil, "")
			a.guessing = before
			return
		}
	}
}
