package guard

import (
	"path"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/windows"
)

// accesses are what the shell's uses of paths come to.
var accesses = [...]Access{shell.ForReading: Read, shell.ForWriting: Write, shell.ForListing: List, shell.ForEntering: List}

// Open implements [shell.Visitor].
func (a *analysis) Open(p *shell.Place, use shell.Use, f shell.Field) {
	access := accesses[use]
	if use == shell.ForWriting && strings.HasPrefix(f.Text, shell.Unknown) && a.paths {
		a.add(finding{verdict: Ask, rule: "exec.dynamic-target", line: reasonWorkdir, span: p.Span,
			why: "which file it writes is only known when it runs", safer: "name the file"})
	}
	if use == shell.ForEntering && p.Doubt != "" {
		sure := *p
		sure.Doubt = "" // to be elsewhere matters once something is done there
		p = &sure
	}
	a.path(p, access, f.Text, f.Glob, nil)
}

// Missing implements [shell.Visitor].
func (a *analysis) Missing(dir string) bool {
	return a.paths && !a.resolver.look(a.guard.workspaces[0]).missing && a.resolver.look(dir).missing
}

// Directory implements [shell.Visitor]. What is looked up in a file is not there.
func (a *analysis) Directory(path string) bool {
	if !a.paths {
		return false
	}
	e := a.resolver.look(path + "/.")
	return !e.missing && e.err == nil
}

// Problem implements [shell.Visitor].
func (a *analysis) Problem(p *shell.Place, problem shell.Problem) {
	safer, setting := saferPlain, ""
	switch problem.Kind {
	case shell.Dynamic, shell.ForkBomb, shell.Network:
		if !a.rules {
			return
		}
		if setting = settingHard; problem.Kind == shell.Network {
			safer = "nc -z HOST PORT or curl say whether something answers; curl sends and fetches"
		}
	case shell.TooLong, shell.TooComplex:
		safer = "write it to a script in the workspace, or run it in several steps"
	case shell.Syntax:
		if safer = "correct the command"; strings.Contains(problem.Reason, "floating point") {
			safer = `put keys of arrays that have a dot in them between quotes: ["a.b"]=x`
		}
	}
	a.add(finding{verdict: Deny, rule: "exec." + string(problem.Kind), line: reasonDangerous, tier: tierHard, why: problem.Reason, safer: safer, setting: setting, span: problem.Span})
}

// Call implements [shell.Visitor].
func (a *analysis) Call(c *shell.Call) {
	a.environment(c)
	if len(c.Argv) == 0 {
		return
	}
	argv := c.Texts()
	if c.Doubt != "" && !anywhere(argv) {
		a.path(&shell.Place{Dir: c.Doubt, Span: c.Span}, List, ".", false, argv)
	}
	if len(a.guard.deny) > 0 {
		a.custom(c.Span, argv, canonical(argv), canonical(append([]string{path.Base(argv[0])}, argv[1:]...)))
	}
	if head, _, ok := strings.Cut(argv[0], "/"); ok && windows.Names[strings.ToLower(head)] {
		a.windowsLine(c, "cmd", c.Source())
		a.windowsLine(c, "cmd", strings.Join(argv, " "))
	}
	name := programs.Canonical(shell.Name(argv[0]))
	if argv[0] != name {
		argv = append([]string{name}, argv[1:]...)
	}
	if a.rules {
		a.judge(c, name, argv)
		if name == "rm" {
			a.optionsByValue(c)
			if c.Wrote() {
				a.optionsByNames(c, name, argv)
			}
		}
	}
	if c.Wrote() {
		a.withNames(c, name)
	}
	if name == "git" && slices.Contains(argv, "mv") {
		a.moved = a.moved || strings.Contains(strings.Join(argv, " "), shell.Temporary)
	}
	a.program(c, argv)
	uses := programs.Uses(a.programs, name, c.Argv[1:], argv[1:])
	a.said, a.copying = shell.Stream{}, nil
	started := c
	if dirs := programs.Changes(name, argv[1:]); len(dirs) > 0 {
		c = a.movedTo(c, dirs)
		defer started.Keep(c)
	}
	a.uses(c, started, name, uses)
	if repeats[name] && c.Wrote() {
		a.uses(c, started, name, uses) // what it starts may find what it has written before
	}
	switch name {
	case "sed":
		a.edited(c, argv, uses)
		a.putInto(c, argv, uses)
	case "perl", "ruby", "awk":
		a.changedInPlace(c, name, argv, uses)
	case "readlink", "realpath":
		a.canonical(c, argv)
	case "expr", "bc", "dc", "sqlite", "sqlite3":
		a.says(c, name, argv)
	case "jq", "gojq", "jaq":
		a.says(c, "jq", argv)
		a.repackages(c, argv)
	case "ed", "red", "ex", "vi", "vim", "nvim":
		a.entered(c, uses)
	case "split", "csplit":
		a.cutInto(c, name, uses)
	}
	a.programs.Give(uses)
	if (name == "patch" || name == "git") && strings.Contains(c.Stdin.Text, "+++ ") {
		patched(c)
	}
	if c.Wrote() {
		if name == "git" {
			a.configured(c)
		}
		files := programs.Found(name, argv[1:], func(file string) bool { _, ok := c.Written(file); return ok })
		if c != started && runsAtTop(name, programs.Script) {
			a.found(started, files)
		}
		a.found(c, files)
		if file, ok := c.Lookup("ENV"); ok && posixShells[name] {
			a.script(c, file, "sh", nil)
		}
	}
	switch name {
	case "git", "go":
		a.toolSettings(c, name, argv)
		if name == "git" {
			a.shows(c, argv)
			takesBack(c, argv)
		}
	case "npm", "pnpm", "yarn":
		a.packaged(c, argv)
	case "make", "gmake":
		for _, word := range argv[1:] {
			if name, value, ok := strings.Cut(word, "="); ok && !strings.HasPrefix(name, "-") && strings.ContainsAny(value, operators) {
				c.Code(": "+value, nil)
			}
		}
	case "npx", "bunx", "pnpx":
		for _, word := range argv[1:] {
			if strings.HasPrefix(word, "-") {
				continue
			}
			if file := "node_modules/.bin/" + word; c.Wrote() {
				a.script(c, file, "sh", nil)
			}
			break
		}
	case "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "unlzma", "zstd", "unzstd", "lz4", "unlz4", "uncompress", "pigz", "unpigz", "pbzip2":
		unpacks(c, argv)
	case "curl", "wget", "aria2c", "axel":
		fetched(c, name)
		a.fileURLs(c)
	case "cpio", "pax", "afio", "zip", "tar", "rsync", "wc", "du", "cat", "sort", "find":
		if c.Wrote() {
			a.listedIn(c, argv)
		}
		if name == "cpio" || name == "pax" || name == "afio" || listsInput(argv) {
			a.listed(c)
		}
	}
	if windows.Names[name] && a.paths {
		for _, word := range strings.Fields(c.Source()) {
			if windows.Outside(word, 0) {
				a.outside(c, word)
			}
		}
	}
	if !programs.Understood(name) {
		a.guess(c, uses)
	}
}

// placeless are commands that do the same wherever they run.
var placeless = map[string]bool{"echo": true, "printf": true, ":": true, "true": true, "false": true, "exit": true, "sleep": true, "date": true, "export": true, "kill": true, "wait": true}

// anywhere says whether a command does the same wherever it runs.
func anywhere(argv []string) bool {
	return placeless[argv[0]] && !slices.ContainsFunc(argv, func(arg string) bool { return strings.ContainsAny(arg, "*?[") })
}

// repeats are programs that start the same command again and again.
var repeats = map[string]bool{"find": true, "gfind": true, "fd": true, "fdfind": true, "xargs": true, "gxargs": true, "parallel": true, "watch": true, "watchexec": true, "entr": true, "nodemon": true, "hyperfine": true}

// uses decides on all the arguments of a command that was started by one, and is another if it changes to a directory first.
func (a *analysis) uses(c, started *shell.Call, name string, uses []programs.Use) {
	for _, use := range uses {
		if use.Kind == programs.Enter {
			a.use(started, name, use)
			continue
		}
		if c != started && runsAtTop(name, use.Kind) {
			a.use(started, name, use)
		}
		a.use(c, name, use)
	}
}

// movedTo is a command that has changed to a directory, and from there to the next.
func (a *analysis) movedTo(c *shell.Call, dirs []string) *shell.Call {
	for _, dir := range dirs {
		a.path(&c.Place, List, dir, false, c.Texts())
		c = c.In(dir)
	}
	return c
}

// posixShells run the file that the variable ENV names first, if they are interactive.
var posixShells = map[string]bool{"sh": true, "dash": true, "ash": true, "ksh": true, "mksh": true, "bash": true, "yash": true, "busybox": true}

// runsAtTop says whether a program starts commands in the directory at the top of the tree that it is in. Which that is isn't known:
// the one where it was started may be it.
func runsAtTop(name string, kind programs.Kind) bool {
	return name == "git" && (kind == programs.Code || kind == programs.Command || kind == programs.Script)
}

// canonical follows what readlink -f and realpath print of one path: where it leads, if that is known.
func (a *analysis) canonical(c *shell.Call, argv []string) {
	operand, follows := "", argv[0] == "realpath"
	for _, arg := range argv[1:] {
		switch {
		case arg == "-f" || arg == "-e" || arg == "-m":
			follows = true
		case strings.HasPrefix(arg, "-") && arg != "--" || operand != "" && arg != "--":
			return
		case arg != "--":
			operand = arg
		}
	}
	if !follows || operand == "" || shell.HasUnknown(operand) || c.Dir == "" || c.Doubt != "" || c.Linked() {
		return
	}
	if target, err := a.resolver.resolve(c.Abs(operand)); err == nil {
		c.Output = shell.Stream{Known: true, Piped: true, Text: target + "\n"}
	}
}

// listsInput says whether options make a program read names of files from its standard input.
func listsInput(argv []string) bool {
	for i, arg := range argv {
		switch {
		case arg == "-@", strings.HasSuffix(arg, "-from=-"), strings.HasSuffix(arg, "-from=/dev/stdin"), arg == "-T-":
			return true
		case i > 0 && (arg == "-" || arg == "/dev/stdin") && strings.HasSuffix(argv[i-1], "T"), i > 0 && arg == "-" && strings.HasSuffix(argv[i-1], "-from"):
			return true
		}
	}
	return false
}
