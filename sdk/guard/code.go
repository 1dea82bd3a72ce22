package guard

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/lang"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// scripted are languages whose code gives what it starts something to read.
var scripted = map[string]bool{"python": true, "node": true, "perl": true, "ruby": true, "php": true, "lua": true, "awk": true}

// telling are languages of which it is followed what their code prints: those, and some that start no commands that read.
var telling = map[string]bool{"python": true, "node": true, "perl": true, "ruby": true, "php": true, "lua": true, "awk": true, "sed": true, "tcl": true}

// filtering are those that often print what they read, changed.
var filtering = map[string]bool{"awk": true, "perl": true, "ruby": true, "sed": true}

// unheard says whether what the code of a program prints goes to nobody but whoever has sent the command: nothing around the code
// sends it elsewhere.
func (a *analysis) unheard(code string) bool {
	before, behind, found := strings.Cut(a.text, code)
	return found && !strings.ContainsAny(before, "|>`$") && !strings.ContainsAny(behind, "|>`$") && !strings.Contains(before, "script")
}

// code decides on code in any language.
func (a *analysis) code(c *shell.Call, language, text string, params []string) {
	beside := a.beside
	a.beside = "" // what the code runs in turn is in no file
	if other, ok := lang.AsShell(language, text); ok {
		language, text = "sh", other
	}
	switch {
	case language == "sh" && beside != "":
		c.Output = c.File(text, params)
		return
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
	effects := a.effectsOf
	switch language {
	case "npm":
		effects = func(_, text string) []lang.Effect { return lang.Scripts(text, params) }
	case "cmake-build":
		effects = func(_, text string) []lang.Effect { return lang.CMakeBuild(text, params) }
	case "just":
		effects = func(_, text string) []lang.Effect { return lang.Just(text, params) }
	case "task":
		effects = func(_, text string) []lang.Effect { return lang.Task(text, params) }
	case "tmux":
		if a.made += len(text) + perIncluded; a.made > maxMade {
			a.hard(c, "exec.too-complex", "commands of tmux run commands of tmux, too often to follow")
			return
		}
	case "pyproject":
		if strings.Contains(text, "backend-path") { // one of its own
			a.found(c, []programs.Use{{Kind: programs.Script, Lang: "python", Text: "*.py"}})
		}
		return
	case "make":
		if a.made += len(text); a.made > maxMade {
			a.hard(c, "exec.too-complex", "make starts make, too often to follow")
			return
		}
		text = a.makefile(c, text)
		effects = func(_, text string) []lang.Effect { return lang.Make(text, params) }
	}
	var words []string         // that the code is given, if it asks for them
	var handedOn []lang.Effect // with these
	for _, e := range effects(language, text) {
		if e.Kind == lang.Path && e.Beside != "" && beside != "" {
			e.Text = path.Join(beside, e.Beside)
		}
		if compiled[language] && e.Kind != lang.Shell && e.Kind != lang.Argv {
			continue
		}
		if e.Inserted && slices.ContainsFunc(append(given(c, language, text), read(c, text)...), operates) {
			a.hard(c, "exec.dynamic", "what it is given has an operator of the shell in it, and becomes a part of shell code")
		}
		if e.Within != "" && a.isUncalled(e.Within, text) {
			continue
		}
		a.effect(c, language, e)
		if words == nil && scripted[language] && ownArguments.MatchString(text) {
			words = append([]string{}, handed(c, text)...)
		}
		if given, ok := withArguments(e, words); ok {
			handedOn = append(handedOn, given)
		}
	}
	for i, e := range handedOn {
		if !slices.ContainsFunc(handedOn[:i], func(o lang.Effect) bool { return o.Kind == e.Kind && o.Text == e.Text && slices.Equal(o.Argv, e.Argv) }) {
			a.effect(c, language, e)
		}
	}
	if language == "python" && a.fed != c && interactive.MatchString(text) && c.Stdin.Known {
		a.input(c, programs.Use{Lang: "python"})
	}
	if telling[language] && c.Output.Text != "" && !a.unheard(text) && lang.Decodes(text) {
		c.Output.From = c.Output.From.And(shell.From("code that decodes"))
	}
	if scripted[language] {
		a.handsOn(c, language, text)
	}
}

// interactive is where code of Python runs what it reads.
var interactive = pattern.New(`\bcode\.interact\b|\.interact\(|\bpdb\.set_trace\b|\bbreakpoint\(\)|\bInteractiveConsole\b|\bsys\.ps1\b`)

// given are the arguments and the environment that code is given, as far as it names them.
func given(c *shell.Call, language, code string) (texts []string) {
	if strings.Contains(code, "arg") || strings.Contains(code, "ARGV") || language == "perl" && strings.Contains(code, "shift") {
		for _, word := range c.Texts()[1:] {
			if word != code {
				texts = append(texts, word)
			}
		}
	}
	if strings.Contains(strings.ToLower(code), "env") {
		for _, value := range c.Env {
			texts = append(texts, value)
		}
	}
	return texts
}

// read are the texts that code may read: its standard input, and the files of the command line that it names.
func read(c *shell.Call, code string) (texts []string) {
	if c.Stdin.Text != code {
		texts = append(texts, strings.TrimSpace(c.Stdin.Text))
	}
	if c.Wrote() {
		for _, word := range strings.FieldsFunc(code, func(r rune) bool { return strings.ContainsRune("\"'`()<>, \n", r) }) {
			if content, ok := c.Written(word); ok && content.Text != code {
				texts = append(texts, content.Text)
			}
		}
	}
	return texts
}

// operates says whether a text has an operator of the shell in it.
func operates(text string) bool {
	return strings.ContainsAny(text, ";|&`\n") || strings.Contains(text, "$(")
}

// handsOn notes what code may print of its arguments and its environment, if it names them: lines that may be commands.
func (a *analysis) handsOn(c *shell.Call, language, code string) {
	texts := given(c, language, code)
	slices.Sort(texts)
	if lines := lang.Lines(texts); lines != "" {
		c.Output = shell.Stream{Piped: true, Text: c.Output.Text + lines, From: c.Stdin.From.And(shell.From(language + " code"))}
	}
}

// inserted stands in shell code where other code puts something into it: what a command would print that nothing is known of.
const inserted = "$(inserted)"

// withInserted is shell code that something is put into. The program that is in a directory of that name is what its own name says.
func withInserted(text string) string {
	if rest, ok := strings.CutPrefix(text, shell.Item+"/"); ok {
		text = "${inserted}/" + rest
	}
	return strings.ReplaceAll(text, shell.Item, inserted)
}

// effect decides on something that code does.
func (a *analysis) effect(c *shell.Call, language string, e lang.Effect) {
	argv := c.Texts()
	switch e.Kind {
	case lang.Shell:
		for _, input := range a.inputs(c, language, e.Fed) {
			c.Feed(withInserted(e.Text), input)
		}
	case lang.Argv:
		fields := make([]shell.Field, len(e.Argv))
		for i, word := range e.Argv {
			fields[i] = shell.Field{Text: word}
		}
		for _, input := range a.inputs(c, language, e.Fed) {
			c.Pipe(language, fields, input)
		}
	case lang.Dynamic:
		a.soft(c, Ask, "exec.dynamic", e.Text, saferPlain)
	case lang.Read:
		a.path(&c.Place, Read, e.Text, false, argv)
	case lang.Write, lang.Path:
		a.path(&c.Place, Write, a.home(c, e.Text), false, argv)
		switch {
		case e.Kind == lang.Path && (language == "sql" || language == "sqlite"):
			a.included(c, language, e.Text)
		case e.Content != "" && (e.Text == "/dev/stdout" || e.Text == "/dev/stderr" || e.Text == "/dev/fd/1"):
			c.Output = shell.Stream{Piped: true, Text: c.Output.Text + e.Content, From: c.Stdin.From.And(shell.From(language + " code"))}
		case e.Content != "" && e.Partly:
			c.WriteMaybe(e.Text, shell.Stream{Piped: true, Text: e.Content, From: shell.From("patch of a file")})
		case e.Content != "" && e.Adds:
			c.WriteMaybe(e.Text, shell.Stream{Known: true, Text: e.Content, Piped: true})
		case e.Content != "":
			c.Write(e.Text, shell.Stream{Known: true, Text: e.Content, Piped: true})
		case e.Kind == lang.Write && language == "sed":
			if read := c.Derived(language); reads(c) && read.Text != "" {
				c.Write(e.Text, read)
			} else if c.Stdin.Known || foreign(c.Stdin.From.Names()) {
				c.Write(e.Text, shell.Stream{Piped: true, Text: c.Stdin.Text, From: c.Stdin.From.And(shell.From(language))}) // or some lines of it, changed
			}
		}
	case lang.Print:
		a.said = shell.Stream{Piped: true, Text: e.Text, From: shell.From(language + " code")}
		if telling[language] && (!filtering[language] || c.Derived(language).Text == "") {
			c.Output = shell.Stream{Piped: true, Text: e.Text, From: c.Stdin.From.And(shell.From(language + " code"))}
		}
	case lang.Delete:
		a.soft(c, Deny, "exec.rm-recursive", e.Text+" deletes directories with everything in them", saferTree)
	case lang.Drop:
		a.soft(c, Deny, "exec.database-delete", e.Text+" deletes what a database keeps, which nothing brings back", "delete the rows that you mean, or use a database of your own")
	case lang.Kill:
		a.soft(c, Deny, "exec.kill-9", "the code kills processes without letting them finish", "")
	case lang.Mode:
		a.soft(c, Deny, "exec.chown", e.Text+" changes whose files or rights they are", "")
	case lang.ForkBomb:
		a.hard(c, "exec.fork-bomb", "the code multiplies without end: "+e.Text)
	case lang.Environment:
		a.hard(c, "exec.environment", e.Text+" makes programs load code that they wouldn't otherwise")
	case lang.Remote:
		a.hard(c, "exec.remote-shell", "the code connects a command with another machine: "+e.Text)
	}
}

// inputs are what a command reads that code starts: what the code gives it, or what the code itself would read.
func (a *analysis) inputs(c *shell.Call, language string, fed bool) []shell.Stream {
	given := shell.Stream{Piped: true, From: shell.From(language)}
	switch {
	case !fed && !scripted[language]:
		return []shell.Stream{c.Stdin}
	case !fed && a.fed != c && c.Stdin.Known && c.Stdin.Text != "":
		return []shell.Stream{given, c.Stdin}
	}
	return []shell.Stream{given}
}

// commanded are languages of programs that are fed with data or commands all day. What feeds them counts where it isn't to be seen.
var commanded = map[string]bool{"c": true, "vim": true, "sql": true, "sed": true, "dc": true, "gnuplot": true, "curl": true, "wget": true, "sqlite": true, "mongo": true, "redis": true, "m4": true, "gdb": true}

// included decides on a file that SQL names, which its client may run, as far as the same command line has written it.
func (a *analysis) included(c *shell.Call, language, file string) {
	content, _ := c.Written(file)
	if !content.Known || content.Text == "" {
		return
	}
	if a.made += len(content.Text) + perIncluded; a.made > maxMade {
		a.hard(c, "exec.too-complex", "SQL includes SQL, too often to follow")
		return
	}
	a.code(c, language, content.Text, nil)
}

// input decides on a program that runs its standard input as code.
func (a *analysis) input(c *shell.Call, u programs.Use) {
	before := a.fed
	a.fed = c
	defer func() { a.fed = before }()
	switch {
	case c.Stdin.Known:
		a.code(c, u.Lang, c.Stdin.Text, u.Params)
	case c.Stdin.File != "":
		a.script(c, c.Stdin.File, u.Lang, u.Params)
	case c.Stdin.Text != "" && (commanded[u.Lang] || !c.Stdin.Piped):
		a.code(c, u.Lang, c.Stdin.Text, u.Params)
	case c.Stdin.Piped && (!commanded[u.Lang] || foreign(c.Stdin.From.Names())):
		a.soft(c, Deny, "exec.pipe-to-shell", "it runs what another command prints: "+strings.Join(c.Stdin.From.Names(), ", "), saferSaved)
	}
}

// maxFollowed is how deep scripts are followed that name each other, or themselves.
const maxFollowed = 64

// script decides on a file that is run as code, as far as the same command line has written it.
func (a *analysis) script(c *shell.Call, file, language string, params []string) {
	if a.following >= maxFollowed {
		a.hard(c, "exec.too-complex", "scripts run scripts, too deep to follow")
		return
	}
	a.following++
	defer func() { a.following-- }()
	if file == "-" || c.IsInput(file) {
		a.input(c, programs.Use{Lang: language, Params: params})
		return
	}
	content, written := c.Written(file)
	if !written {
		for _, name := range c.Matching(file) {
			a.script(c, name, language, params)
		}
		return
	}
	if content.Text != "" || content.Known {
		if !c.Linked() {
			a.beside = path.Dir(c.Abs(file))
		}
		text := content.Text
		if language == "sh" && !content.Known && slices.Contains(content.From.Names(), "patch of a file") && !shell.Parses(text) {
			text = byThemselves(text)
		}
		a.code(c, language, text, params)
		a.beside = ""
		if !content.Known && !slices.Contains(content.From.Names(), "npm") {
			a.fragments(c, language, content.Text)
		}
	}
	switch {
	case content.Known || content.File != "":
	case content.Text != "" && changed(content.From.Names()):
		a.soft(c, Deny, "exec.download-run", "what it runs was changed on the way, and only shows when it runs: "+strings.Join(content.From.Names(), ", "), saferSaved)
	case strings.HasPrefix(file, "/dev/fd/") && language != "sed" || foreign(content.From.Names()) || language == "sh" && computed(content):
		a.soft(c, Deny, "exec.download-run", "it runs what another command has just made: "+strings.Join(content.From.Names(), ", "), saferSaved)
	}
}

// byThemselves are those of several lines that are programs by themselves, where they aren't one together: others may stand between them.
func byThemselves(text string) string {
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool { return !shell.Parses(line) })
	return strings.Join(lines, "")
}

// changed says whether one of the commands that made a text doesn't leave its lines as they were.
func changed(from []string) bool {
	for _, name := range from {
		switch name {
		case "sed", "gsed", "awk", "gawk", "mawk", "perl", "ruby", "cut", "paste", "join", "fold", "fmt", "column", "pr", "envsubst", "iconv", "jq", "yq", "m4", "cpp", "head -c", "tail -c", "patch":
			return true
		}
	}
	return false
}

// foreign says whether one of the commands that made a text fetches or decodes it.
func foreign(from []string) bool {
	for _, name := range from {
		switch name {
		case "code that decodes", "curl", "wget", "nc", "ncat", "base64", "base32", "xxd", "openssl", "gpg", "http", "https", "xh", "aria2c", "fetch", "lynx", "w3m", "uudecode", "several ways", "mkfifo", "invoke-webrequest", "iwr", "tr", "rev":
			return true
		}
	}
	return false
}

// passing are the commands that print what is in files, or what the shell has, as far as that is what they made a text of.
var passing = func() map[string]bool {
	m := map[string]bool{"several writes": true, "git show": true, "patch of a file": true}
	for _, name := range strings.Fields("cat tac head tail ghead gtail sed gsed grep egrep fgrep rg sort gsort uniq envsubst dos2unix unix2dos iconv sponge tee env printenv export declare typeset set alias echo printf cp mv") {
		m[name] = true
	}
	return m
}()

// computed says whether a text is what another command has printed that made it up itself, as far as that isn't known: to run it is to run
// what the command would give to a shell.
func computed(content shell.Stream) bool {
	return content.Text == "" && slices.ContainsFunc(content.From.Names(), func(name string) bool { return !passing[name] })
}

// fetched remembers the files that curl -O and wget name after their URLs, for when the line runs them.
func fetched(c *shell.Call, name string) {
	for _, f := range c.Argv[1:] {
		if base := path.Base(f.Text); (programs.Remote(f.Text) || strings.Contains(f.Text, "/")) && !strings.HasPrefix(f.Text, "-") && base != "." && base != "/" {
			c.Write(base, shell.Stream{Piped: true, From: shell.From(name)})
		}
	}
}

// listed decides on the paths that a program reads from its standard input, where they are known.
func (a *analysis) listed(c *shell.Call) {
	if !c.Stdin.Known {
		return
	}
	for _, line := range strings.Split(c.Stdin.Text, "\n") {
		a.path(&c.Place, Read, line, false, c.Texts())
	}
}

// codeKey is code in a language, and whether what it prints goes to nobody but whoever has sent the command.
type codeKey struct {
	language, text string
	unheard        bool
}

// effectsOf is what code does. It is read once, however often and on however many ways the command comes to it.
func (a *analysis) effectsOf(language, text string) []lang.Effect {
	key := codeKey{language: language, text: text}
	switch language {
	case "python", "node", "php", "lua":
		key.unheard = a.unheard(text)
	}
	known, ok := a.effects[key]
	if ok {
		return known
	}
	if key.unheard {
		known = lang.Unheard(language, text)
	} else {
		known = lang.Effects(language, text)
	}
	if a.effects == nil {
		a.effects = map[codeKey][]lang.Effect{}
	}
	a.effects[key] = known
	return known
}
