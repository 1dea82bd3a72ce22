package lang

import (
	"path"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// change is a call by which code changes its working directory.
type change struct {
	from, to int    // where it stands
	dir      string // where it leads: from the directory before, or begun anew where the code starts or a directory of its own is
	anew     bool
	until    int // where the block ends that it counts for; 0 if it counts on
	indent   int // of its line
}

// changes are all of them, in the order of the code, if they are known.
type changes struct {
	read, known bool
	list        []change
	back        int // where the last of those stands that may lead up; -1 if none does
}

// own is a directory that code makes for itself.
const own = "/" + shell.Temporary + "/own"

var (
	// changers is what stands before the name of a function that changes the directory.
	changers = pattern.New(`(?:^|[^\w.$>:])(?:(?:os|posix|process|contextlib|monkeypatch|Dir|FileUtils|POSIX)(?:\.|::))?$`)
	// otherwise are other functions that change the directory.
	otherwise = pattern.New(`\bcd\b|\bchroot\b`)
	// ending is what may stand behind a statement, and failing what ends a program of Perl's or PHP's where the call before it fails.
	ending  = pattern.New(`^[ \t]*(?:[;\n}]|$)`)
	failing = pattern.New(`^\s*(?:or|\|\|)\s*(?:die|exit|croak)\b`)
	asBlock = pattern.New(`^[ \t]*(?:as[ \t]+\w+[ \t]*)?:[ \t]*\n`)
	// compound are the words that begin a statement of Python with others in it.
	compound = names(`if elif else for while try except finally with def class async match case`)
	// guards are words behind which, and behind whose brackets, a statement without braces may be part of another.
	guards = names(`else if elsif elseif unless for foreach while until with do switch case default when catch return and or not then begin`)
	// parted is what a statement of Ruby's must not stand behind in its line, nor stand between it and what it rules.
	parted = pattern.New(`\b(?:if|unless|while|until|for|begin|def|do|case|then|and|or|end|else|elsif|rescue|ensure|when|in)\b`)
	closed = pattern.New(`\b(?:end|else|elsif|rescue|ensure|when)\b`)
	// conditional is what makes a statement of Perl's depend on what stands behind it.
	conditional = pattern.New(`\b(?:if|unless|for|foreach|while|until)\b`)
	// later is what runs code later in Node, or waits.
	later = pattern.New(`=>|\b(?:async|await|Promise|then|setTimeout|setImmediate|nextTick|function)\b`)
	// looping are blocks of Ruby's that may run more than once, or later.
	looping = pattern.New(`\b(?:do|def|while|until|for|loop|proc|lambda|class|module|retry|redo)\b|->|\{`)
	// hoisted is where a function begins that can be called before it stands there; repeats is where a block does that may run more than once, or later.
	hoisted = pattern.New(`\b(?:function\s*\*?\s+\w+\s*\([^()]*\)|sub\s+\w+|def\s+[\w.]+[^\n{}]*)\s*$`)
	once    = pattern.New(`\b(?:try|finally)\s*$`)

	current      = pattern.New(`^(?:os\.getcwdb?|os\.path\.abspath|process\.cwd|Dir\.(?:pwd|getwd)|getcwd|cwd)\(\s*\)$`)
	makesTemp    = pattern.New(`^(?:await\s+)?(?:(?:tempfile|fs|fsp|Dir)\.)?(?:mkdtemp|mkdtempSync|mktmpdir|tempdir)\(([^;\n]*)\)$`)
	asTemp       = pattern.New(`\bwith\s+(?:tempfile\.)?TemporaryDirectory\(([^()\n]*)\)\s+as\s+$`)
	mktmpdirDo   = pattern.New(`\bDir\.mktmpdir\b\s*(?:\(([^()\n]*)\))?\s*(?:do|\{)\s*\|\s*$`)
	asPath       = pattern.New(`^(?:pathlib\.)?(?:Path|str)\(([^()]*(?:\([^()]*\))?)\)$`)
	joinsPath    = pattern.New(`^(?:os\.path|path|File)\.join\(\s*(\w+)\s*((?:,\s*"\d+"\s*)+),?\s*\)$`)
	dividesTo    = pattern.New(`^(.*\S)\s*/\s*"(\d+)"$`)
	testFunction = pattern.New(`\bdef\s+(\w+)\s*\((?:[^()]*,)?\s*$`)
	// besidesDir are arguments of a function that makes a directory of its own by which it would make it elsewhere.
	besidesDir = pattern.New(`\bdir\b|,[^,]*,|\btempdir\b`)
	makers     = pattern.New(`\b(?:def|function|class|sub)\s+(?:mkdtemp|mkdtempSync|mktmpdir|tempdir|TemporaryDirectory|getcwd|tmp_path)\b|\btempdir\s*=|\b(?:mkdtemp|mkdtempSync|TemporaryDirectory|getcwd)\s*=[^=]|\bimport\s+\w+\s+as\s+(?:mkdtemp|TemporaryDirectory)`)
)

// dirAt is the directory that code is in at one place, from where it starts; "" if it is still there, or that isn't known.
func (s *skeleton) dirAt(language string, at int) string {
	if !s.changes.read {
		s.changes = s.findChanges(language)
	}
	if !s.changes.known || len(s.changes.list) == 0 || s.changes.back > at && s.repeated(language, at) {
		return ""
	}
	dir := ""
	for _, c := range s.changes.list {
		switch {
		case c.to > at:
			return dir
		case s.rules(language, c, at):
			dir = c.after(dir)
		case c.until == 0 && c.up():
			return ""
		}
	}
	return dir
}

// after is the directory behind a change, by the one before.
func (c change) after(dir string) string {
	if c.anew || dir == "" {
		return c.dir
	}
	return dir + "/" + c.dir
}

// up says whether a change may lead further up than the code was before.
func (c change) up() bool {
	return c.anew && !strings.HasPrefix(c.dir, own) || strings.Contains(c.dir, "..")
}

// counted is a path in the code at one place as it is where the code starts.
func (s *skeleton) counted(language string, at int, text string) string {
	if text == "" || text[0] == '/' || text[0] == '~' || !strings.Contains(text, "..") || !strings.Contains(s.code, "chdir") {
		return text
	}
	dir := s.dirAt(language, at)
	if dir == "" {
		return text
	}
	from := dir + "/" + text
	if clean := path.Clean(from); dir[0] == '/' && clean != own && !strings.HasPrefix(clean, own+"/") {
		return text
	}
	return from
}

// under is a directory that a command starts in, as it is named at a place in the code, from where the code starts.
func (s *skeleton) under(language string, at int, dir string) string {
	from := s.dirAt(language, at)
	switch {
	case from == "" || strings.HasPrefix(dir, "/"):
		return dir
	case dir == "":
		return from
	}
	return from + "/" + dir
}

// findChanges finds all changes of the directory. If one of them isn't understood, none is known.
func (s *skeleton) findChanges(language string) changes {
	all := changes{read: true, back: -1}
	if language != "python" && language != "node" && language != "ruby" && language != "perl" && language != "php" {
		return all
	}
	for _, l := range s.literals {
		if strings.Contains(l.text, "chdir") {
			return all
		}
	}
	if otherwise.MatchString(s.worth(otherwise)) {
		return all
	}
	for at := strings.Index(s.code, "chdir"); at >= 0; {
		next := at + len("chdir")
		if c, ok, call := s.readChange(language, at); call && !ok {
			return all
		} else if call {
			if c.up() {
				all.back = c.from
				if s.repeated(language, c.from) {
					return all
				}
			}
			all.list, next = append(all.list, c), c.to
		}
		more := strings.Index(s.code[next:], "chdir")
		if more < 0 {
			break
		}
		at = next + more
	}
	all.known = true
	return all
}

// readChange reads the call of a function whose name stands at a place, if it is one.
func (s *skeleton) readChange(language string, at int) (c change, ok, call bool) {
	line := s.code[strings.LastIndexByte(s.code[:at], '\n')+1 : at]
	behind := s.code[at+len("chdir"):]
	words := strings.Fields(line[strings.LastIndexByte(line, ';')+1:])
	if language == "python" && len(words) > 0 && (words[0] == "from" || words[0] == "import") || language == "ruby" && strings.HasPrefix(behind, ":") {
		return c, false, false
	}
	if !s.looks(2*maxTold+len(line)) || !changers.MatchString(s.code[max(0, at-maxTold):at]) {
		return c, false, true
	}
	c.from = at
	for c.from > 0 && (wordByte(s.code[c.from-1]) || s.code[c.from-1] == '.' || s.code[c.from-1] == ':') {
		c.from--
	}
	c.indent = len(line) - len(strings.TrimLeft(line, " \t"))
	arg, end := s.argument(language, at+len("chdir"))
	if c.to = end; end < 0 || !s.leads(arg, at, &c) {
		return c, false, true
	}
	return c, s.states(language, &c), true
}

// argument is the only argument of a call behind whose name a place is, and where the call ends; -1 if it isn't understood.
func (s *skeleton) argument(language string, at int) (string, int) {
	rest := strings.TrimLeft(s.code[at:], " \t")
	open := len(s.code) - len(rest)
	if strings.HasPrefix(rest, "(") {
		end := s.closing(open)
		s.looked += end - open
		return strings.TrimSpace(s.code[open+1 : max(open+1, end-1)]), end
	}
	if (language == "perl" || language == "ruby") && strings.HasPrefix(rest, `"`) {
		if end := strings.IndexByte(rest[1:], '"'); end > 0 {
			return rest[:end+2], open + end + 2
		}
	}
	return "", -1
}

// leads says where an argument leads, if that is known.
func (s *skeleton) leads(arg string, at int, c *change) bool {
	return s.directory(arg, at, 0, c)
}

// directory is leads for an expression that stands before a place, or is what a variable there was set to.
func (s *skeleton) directory(expression string, at, depth int, c *change) bool {
	expression = strings.TrimSpace(expression)
	if depth > maxHere || !s.looks(len(expression)) || makers.MatchString(s.worth(makers)) {
		return false
	}
	if m := reference.FindStringSubmatch(expression); m != nil && m[0] == expression {
		text, ok := s.text(m[1])
		c.dir = path.Clean(text)
		return ok && text != "" && text[0] != '/' && text[0] != '~' && !strings.ContainsAny(text, "{}$`*?\\'\"\n") && !shell.HasUnknown(text)
	}
	if current.MatchString(expression) {
		c.dir, c.anew = ".", true
		return strings.Index(s.code, "chdir") > at
	}
	if m := makesTemp.FindStringSubmatch(expression); m != nil {
		c.dir, c.anew = own, true
		return s.plainTemporary(m[1])
	}
	if m := asPath.FindStringSubmatch(expression); m != nil {
		return s.directory(m[1], at, depth+1, c)
	}
	if m := joinsPath.FindStringSubmatch(expression); m != nil {
		return s.directory(m[1], at, depth+1, c) && s.below(c, s.referenced(m[2])...)
	}
	if m := dividesTo.FindStringSubmatch(expression); m != nil {
		return s.directory(m[1], at, depth+1, c) && s.below(c, s.referenced(`"`+m[2]+`"`)...)
	}
	if wholeName.MatchString(strings.TrimPrefix(expression, "$")) {
		return s.variable(strings.TrimPrefix(expression, "$"), depth, c)
	}
	return false
}

// below adds names to where a change leads.
func (s *skeleton) below(c *change, parts ...literal) bool {
	for _, l := range parts {
		if l.text == "" || l.text[0] == '/' || l.text[0] == '~' || strings.ContainsAny(l.text, "{}$`*?\\") || strings.Contains(l.text, "..") {
			return false
		}
		c.dir += "/" + l.text
	}
	return true
}

// variable is directory for a variable that gets one value: what it is set to, or the name of a temporary directory for a block.
func (s *skeleton) variable(name string, depth int, c *change) bool {
	if !s.looks(2 * len(s.code)) {
		return false
	}
	set, given, ok := 0, false, false
	for place := range places(s.code, name) {
		before, rest := s.code[max(0, place-maxTold):place], s.code[place+len(name):]
		switch {
		case sets(rest):
			value, _, _ := strings.Cut(rest[strings.IndexByte(rest, '=')+1:], "\n")
			value, _, _ = strings.Cut(value, ";")
			ok = s.directory(value, place, depth+1, c)
			set++
		case asTemp.MatchString(before), mktmpdirDo.MatchString(before):
			m := asTemp.FindStringSubmatch(before)
			if m == nil {
				m = mktmpdirDo.FindStringSubmatch(before)
			}
			c.dir, c.anew, ok = own, true, s.plainTemporary(m[1])
			set++
		case binds.MatchString(before) || bound.MatchString(rest):
			if name != "tmp_path" || !s.calledByTests(before) {
				return false
			}
			c.dir, c.anew, given = own, true, true // by pytest
		}
	}
	return given && set == 0 || !given && ok && set == 1
}

// calledByTests says whether code ends in the parameters of a function that the code itself doesn't call or hand on.
func (s *skeleton) calledByTests(before string) bool {
	m := testFunction.FindStringSubmatch(before)
	if m == nil || !s.looks(len(s.code)) {
		return false
	}
	for place := range places(s.code, m[1]) {
		before, behind := s.code[max(0, place-maxTold):place], s.code[place+len(m[1]):]
		isParameter := parameter.MatchString(before) && behindParameter.MatchString(behind[:min(len(behind), maxTold)])
		if !isParameter && !strings.HasSuffix(before, "def ") {
			return false
		}
	}
	return true
}

// plainTemporary says whether a function that makes a temporary directory makes it where such are, by its arguments.
func (s *skeleton) plainTemporary(args string) bool {
	for _, l := range s.referenced(args) {
		if strings.ContainsAny(l.text, "/{$") {
			return false
		}
	}
	if strings.Contains(args, "tmpdir()") {
		return true // path.join(os.tmpdir(), "x-")
	}
	return !besidesDir.MatchString(args) && !strings.ContainsAny(args, "(+")
}
