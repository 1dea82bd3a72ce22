package guard

import (
	"path"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/lang"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// wrote remembers files that programs fetch, copy or make, for when the line runs them.
func (a *analysis) wrote(c *shell.Call, name, file string) {
	switch name {
	case "curl", "wget", "aria2c", "axel", "scp", "nc", "openssl", "http", "https", "xh", "base64", "gpg", "mkfifo":
		c.Write(file, shell.Stream{Piped: true, From: shell.From(name)})
	case "touch":
		if strings.HasPrefix(path.Base(file), "-") {
			c.Write(file, shell.Stream{Known: true})
		}
	case "tee", "sponge":
		a.copies(c, name).write(file, c.Stdin)
	case "dd":
		c.Write(file, c.Stdin)
		a.copied(c, name, file)
		if slices.ContainsFunc(c.Argv, func(f shell.Field) bool {
			return strings.HasPrefix(f.Text, "conv=") && strings.Contains(f.Text, "notrunc") || strings.HasPrefix(f.Text, "seek=") || strings.HasPrefix(f.Text, "oflag=append")
		}) {
			c.Overwrite(file)
		}
	case "xxd":
		if a.copies(c, name).reverses {
			c.Write(file, shell.Stream{Piped: true, From: shell.From(name)})
		} else {
			a.copied(c, name, file)
		}
	case "cp", "mv", "install", "ln", "rsync", "gunzip", "unzip":
		a.copied(c, name, file)
	case "find", "gfind":
		for i, f := range c.Argv {
			if f.Text == "-fprintf" && i+2 < len(c.Argv) && c.Argv[i+1].Text == file {
				c.Write(file, shell.Stream{Piped: true, Text: shell.Formatted(c.Argv[i+2].Text), From: shell.From(name)})
			}
		}
	case "sort", "uniq", "shuf", "split", "csplit", "iconv", "patch", "gzip":
		a.derived(c, name, file)
	}
}

// copying is how a command makes files out of others. It is worked out once for all the files that it makes.
type copying struct {
	write    func(file string, content shell.Stream)
	symbolic bool          // the files are symbolic links
	reverses bool          // they are made of dumps, as xxd makes them
	sources  []shell.Field // the arguments that may name something of which it is known what is in it
}

// maxCopied is how many files a command makes at most out of how many others, taken times each other.
const maxCopied = 1 << 14

// maxCopiedTrees is how many files of which something is known are copied at most with the directories that they are in.
const maxCopiedTrees = 1 << 12

// sparing are the options of programs by which they may keep what is there.
var sparing = map[string][]string{
	"tee": {"-a", "--append"}, "sponge": {"-a", "--append"},
	"cp": {"-n", "-u", "-i", "--no-clobber", "--update", "--interactive"}, "mv": {"-n", "-u", "-i", "--no-clobber", "--update", "--interactive"},
	"rsync": {"-u", "-n", "--ignore-existing", "--update", "--existing"},
}

// copies is how this command makes files.
func (a *analysis) copies(c *shell.Call, name string) *copying {
	if a.copying != nil {
		return a.copying
	}
	how := &copying{write: c.Write}
	if name == "ln" || keeps(c, sparing[name]) {
		how.write = c.WriteMaybe
	}
	for _, f := range c.Argv[1:] {
		how.symbolic = how.symbolic || f.Text == "--symbolic" || len(f.Text) > 1 && f.Text[0] == '-' && f.Text[1] != '-' && strings.Contains(f.Text, "s")
		how.reverses = how.reverses || strings.HasPrefix(f.Text, "-r") || strings.HasPrefix(f.Text, "-pr")
		if from := strings.TrimPrefix(f.Text, "if="); !strings.HasPrefix(from, "-") && (name == "ln" || a.knownSource(c, from, f.Glob)) {
			how.sources = append(how.sources, shell.Field{Text: from, Glob: f.Glob})
		}
	}
	a.copying = how
	return how
}

// knownSource says whether something is known of what is in a file or a directory.
func (a *analysis) knownSource(c *shell.Call, from string, glob bool) bool {
	if c.IsInput(from) || systemBins[path.Dir(from)] && !glob {
		return true
	}
	if !c.Wrote() {
		return false
	}
	if _, ok := c.Written(from); ok || len(c.Matching(from)) > 0 {
		return true
	}
	below := c.Abs(from) + "/"
	return len(c.Writings(func(name string) bool { return strings.HasPrefix(name, below) })) > 0
}

// keeps says whether a command has one of some options.
func keeps(c *shell.Call, options []string) bool {
	if len(options) == 0 {
		return false
	}
	for _, f := range c.Argv[1:] {
		for _, option := range options {
			letters := len(option) == 2 && len(f.Text) > 1 && f.Text[0] == '-' && f.Text[1] != '-' && strings.Contains(f.Text, option[1:])
			if letters || len(option) > 2 && strings.HasPrefix(f.Text, option) {
				return true
			}
		}
	}
	return false
}

// copied remembers a file, or all that is in a directory, that is the same as another one from now on.
func (a *analysis) copied(c *shell.Call, name, file string) {
	how := a.copies(c, name)
	if a.copiedFrom += len(how.sources); a.copiedFrom > maxCopied {
		a.hard(c, "exec.too-complex", "it copies more files than can be followed")
		return
	}
	write := how.write
	if name == "cp" && how.symbolic {
		for _, f := range c.Argv[1:] {
			a.linked(c.Abs(file), c.Abs(file+"/"+path.Base(f.Text)))
		}
	}
	for _, f := range how.sources {
		from := f.Text
		if name == "ln" && from != file {
			c.Link(from, file, how.symbolic)
			c.Link(from, file+"/"+path.Base(from), how.symbolic)
			if how.symbolic {
				a.linked(c.Abs(file), c.Abs(file+"/"+path.Base(from)))
			}
		}
		switch content, ok := c.Written(from); {
		case from == file:
		case c.IsInput(from):
			write(file, c.Stdin)
			if name == "mv" { // a link
				c.Link("/dev/stdin", file, true)
			}
		case systemBins[path.Dir(from)] && !f.Glob:
			program := shell.Stream{Known: true, Text: from + " \"$@\"\n", Piped: true}
			write(file, program)
			write(file+"/"+path.Base(from), program)
		case ok:
			write(file, content)
			write(file+"/"+path.Base(from), content)
		case c.Wrote():
			for _, name := range c.Matching(from) {
				content, _ := c.Written(name)
				write(file, content)
				write(file+"/"+path.Base(name), content)
			}
			below := c.Abs(from) + "/"
			names := c.Writings(func(name string) bool { return strings.HasPrefix(name, below) })
			if a.copiedTrees += len(names); a.copiedTrees > maxCopiedTrees {
				a.hard(c, "exec.too-complex", "it copies more files than can be followed")
				return
			}
			for _, name := range names {
				content, _ := c.Written(name)
				rest := name[len(below):]
				write(file+"/"+rest, content)
				write(file+"/"+path.Base(from)+"/"+rest, content)
			}
		}
	}
}

// pieces are the endings of the files that split and csplit cut a file into, as far as they are followed.
var pieces = []string{"aa", "ab", "ac", "00", "01", "02"}

// derived remembers a file that a program makes out of others: what is in it is somewhere in those.
func (a *analysis) derived(c *shell.Call, name, file string) {
	content := c.Derived(name)
	if content.Text == "" {
		return
	}
	if name != "split" && name != "csplit" {
		c.Write(file, content)
		return
	}
	for _, piece := range pieces {
		c.Write(file+piece, content)
	}
}

// patched remembers what a patch that a program reads puts into files: the lines that it adds.
func patched(c *shell.Call) {
	file := ""
	var added strings.Builder
	keep := func() {
		if file != "" && file != "/dev/null" {
			c.Write(file, shell.Stream{Piped: true, Text: added.String(), From: shell.From("patch of a file")})
		}
		added.Reset()
	}
	for _, line := range strings.Split(c.Stdin.Text, "\n") {
		if name, ok := strings.CutPrefix(line, "+++ "); ok {
			keep()
			name, _, _ = strings.Cut(name, "\t")
			file = strings.TrimPrefix(name, "b/")
		} else if text, ok := strings.CutPrefix(line, "+"); ok {
			added.WriteString(text + "\n")
		}
	}
	keep()
}

// changedInPlace remembers that a program changes files that the line wrote in a way that isn't followed.
func (a *analysis) changedInPlace(c *shell.Call, name string, argv []string, uses []programs.Use) {
	if !slices.ContainsFunc(argv[1:], func(arg string) bool {
		return arg == "inplace" || len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg, "i") && name != "awk"
	}) {
		return
	}
	put := ""
	for _, u := range uses {
		if u.Kind == programs.Code && u.Lang == "perl" {
			put += lang.Replacements(u.Text)
		}
	}
	for _, file := range argv[1:] {
		before, ok := c.Written(file)
		switch {
		case ok && before.Text != "":
			c.Write(file, shell.Stream{Piped: true, Text: before.Text + put, From: before.From.And(shell.From(name))})
		case !ok && put != "" && !strings.HasPrefix(file, "-"):
			c.WriteMaybe(file, shell.Stream{Piped: true, Text: put, From: shell.From(name + " code")})
		}
	}
}

// maxEdits is how many bytes of text sed is followed over. What it makes of more isn't known.
const maxEdits = 64 << 10

// edited follows sed over what the same line wrote: what it prints, and what it leaves in the files that it changes.
func (a *analysis) edited(c *shell.Call, argv []string, uses []programs.Use) {
	if !c.Wrote() && c.Stdin.Text == "" {
		return
	}
	var scripts, files []string
	for _, u := range uses {
		switch u.Kind {
		case programs.Code:
			scripts = append(scripts, u.Text)
		case programs.Read:
			files = append(files, u.Text)
		case programs.Script:
			return // what it does isn't followed
		}
	}
	inPlace, extended, quiet, backup := false, false, false, ""
	for _, arg := range argv[1:] {
		if strings.HasPrefix(arg, "--") {
			inPlace = inPlace || strings.HasPrefix(arg, "--i")
			extended = extended || strings.HasPrefix(arg, "--r")
			quiet = quiet || strings.HasPrefix(arg, "--q") || strings.HasPrefix(arg, "--si")
			if option, suffix, _ := strings.Cut(arg, "="); strings.HasPrefix(option, "--i") {
				backup = suffix
			}
		} else if strings.HasPrefix(arg, "-") {
			letters, _, _ := strings.Cut(arg[1:], "e")
			flags, suffix, found := strings.Cut(letters, "i")
			if inPlace = inPlace || found; found && backup == "" {
				backup = suffix
			}
			extended = extended || strings.ContainsAny(flags, "Er") || suffix == "E"
			quiet = quiet || strings.Contains(flags, "n")
		}
	}
	edit := func(before shell.Stream) shell.Stream {
		if a.edits += len(before.Text); a.edits > maxEdits {
			return shell.Stream{Piped: true, Text: before.Text, From: before.From.And(shell.From("sed"))}
		}
		if after, ok := lang.Substituted(strings.Join(scripts, "\n"), before.Text, extended); ok && before.Known && !quiet {
			return shell.Stream{Known: true, Piped: true, Text: after}
		} else if ok && !quiet {
			before.Text = after
			return before
		}
		return shell.Stream{Piped: true, Text: before.Text, From: before.From.And(shell.From("sed"))}
	}
	if inPlace {
		for _, file := range files {
			for _, name := range append(c.Matching(file), file) {
				if before, ok := c.Written(name); ok && before.Text != "" {
					if backup != "" {
						c.Write(backedUp(name, backup), before)
					}
					c.Write(name, edit(before))
				}
			}
		}
		return
	}
	switch len(files) {
	case 0:
		if c.Stdin.Text != "" {
			c.Output = edit(c.Stdin)
		}
	case 1:
		if before, ok := c.Written(files[0]); ok && before.Text != "" {
			c.Output = edit(before)
		}
	}
}

// backedUp is where sed keeps what a file was before it changed it.
func backedUp(file, suffix string) string {
	if !strings.Contains(suffix, "*") {
		return file + suffix
	}
	if name := strings.ReplaceAll(suffix, "*", path.Base(file)); strings.Contains(name, "/") {
		return name
	} else {
		return path.Join(path.Dir(file), name)
	}
}

// putInto notes the lines that sed puts into files that it edits in place, of which the text doesn't know the others.
func (a *analysis) putInto(c *shell.Call, argv []string, uses []programs.Use) {
	inPlace := slices.ContainsFunc(argv[1:], func(arg string) bool {
		letters, _, _ := strings.Cut(arg, "e")
		return strings.HasPrefix(arg, "--i") || strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(letters, "i")
	})
	if !inPlace || a.said.Text == "" {
		return
	}
	for _, u := range uses {
		if _, known := c.Written(u.Text); u.Kind == programs.Read && !known {
			c.WriteMaybe(u.Text, a.said)
		}
	}
}
