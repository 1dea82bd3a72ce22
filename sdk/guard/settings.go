package guard

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// maxSettings is how many settings of git's are followed, and how many makefiles that others include.
const maxSettings = 64

// makefile is code of make with the files that it includes, as far as the same command line has written them.
func (a *analysis) makefile(c *shell.Call, text string) string {
	if !c.Wrote() || !strings.Contains(text, "include ") {
		return text
	}
	var out strings.Builder
	seen := map[string]bool{}
	pending := strings.Split(text, "\n")
	for len(pending) > 0 && out.Len() < maxMade {
		line := pending[0]
		pending = pending[1:]
		rest, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimLeft(line, " "), "-s"), "include ")
		if !ok {
			out.WriteString(line + "\n")
			continue
		}
		for _, word := range strings.Fields(rest) {
			for _, name := range append(c.Matching(word), word) {
				if content, _ := c.Written(name); content.Text != "" && !seen[c.Abs(name)] && len(seen) < maxSettings {
					seen[c.Abs(name)] = true
					pending = append(strings.Split(content.Text, "\n"), pending...)
				}
			}
		}
	}
	return out.String()
}

// settingsFiles are the files that git has settings in, in its repository and in the home directory.
var settingsFiles = []string{".git/config", ".git/config.worktree", "~/.gitconfig", "~/.config/git/config"}

// configured follows a command of git's with the settings that the same command line has written.
func (a *analysis) configured(c *shell.Call) {
	if slices.Contains(c.Via, ".git/config") {
		return
	}
	argv := []shell.Field{{Text: "git"}}
	dir := ""
	for i, f := range c.Argv {
		if f.Text == "-C" && i+1 < len(c.Argv) {
			dir = c.Argv[i+1].Text + "/"
		}
	}
	files := settingsFiles
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"} {
		file, ok := c.Env[name]
		if !ok {
			file, ok = c.Lookup(name)
		}
		if ok && file != "" {
			files = append(files[:len(files):len(files)], file)
		}
	}
	if dir, ok := c.Env["XDG_CONFIG_HOME"]; ok {
		files = append(files[:len(files):len(files)], dir+"/git/config")
	} else if dir, ok := c.Lookup("XDG_CONFIG_HOME"); ok && dir != "" {
		files = append(files[:len(files):len(files)], dir+"/git/config")
	}
	for _, file := range files {
		path := dir + file
		if below, ok := strings.CutPrefix(file, "~/"); ok {
			path = a.homeOf(c, below)
		}
		content, _ := c.Written(path)
		for _, setting := range settings(content.Text) {
			if key, value, _ := strings.Cut(setting, "="); key == "include.path" {
				if !strings.HasPrefix(value, "/") {
					value = strings.TrimSuffix(path, "config") + value
				}
				more, _ := c.Written(value)
				for _, setting := range settings(more.Text) {
					argv = append(argv, shell.Field{Text: "-c"}, shell.Field{Text: setting})
				}
				continue
			}
			argv = append(argv, shell.Field{Text: "-c"}, shell.Field{Text: setting})
		}
	}
	told := strings.Join(shell.Texts(argv), "\n")
	if len(argv) == 1 || slices.Contains(a.configuring, told) {
		return // in code of an alias, say, of these very settings
	}
	a.configuring = append(a.configuring, told)
	c.Exec(".git/config", append(argv, c.Argv[1:]...), nil)
	a.configuring = a.configuring[:len(a.configuring)-1]
}

// settings are the settings in a file of git's, as git -c takes them.
func settings(text string) (all []string) {
	section := ""
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name, rest, _ := strings.Cut(line[1:], "]")
			name, sub, _ := strings.Cut(name, " ")
			if section = strings.ToLower(name); sub != "" {
				section += "." + strings.Trim(strings.TrimSpace(sub), `"`)
			}
			line = strings.TrimSpace(rest)
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || section == "" || strings.HasPrefix(key, "#") || strings.HasPrefix(key, ";") {
			continue
		}
		if value = strings.TrimSpace(value); len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(value[1 : len(value)-1])
		}
		if all = append(all, section+"."+strings.TrimSpace(key)+"="+value); len(all) == maxSettings {
			break
		}
	}
	return all
}
