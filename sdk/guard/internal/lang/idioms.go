package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// walks go through a tree of directories from its leaves, and leaves delete what they find there, directories included.
	walks = map[string]*pattern.Pattern{
		"python": pattern.New(`\btopdown\s*=\s*(?:False|0)\b|\bos\.fwalk\b`),
		"perl":   pattern.New(`\bfinddepth\b|\bbydepth\b`),
		"ruby":   pattern.New(`\breverse(?:_each)?\b|\bFind\.find\b|\bdepth_first\b`),
	}
	leaves = map[string]*pattern.Pattern{
		"python": pattern.New(`\b(?:rmdir|removedirs)\b`),
		"perl":   pattern.New(`\brmdir\b`),
		"ruby":   pattern.New(`\b(?:Dir\s*\.\s*(?:rmdir|delete|unlink)|rmdir)\b`),
	}
	// renamed is a directory of its own, which is to be deleted, under another name.
	renamedOwn = pattern.New(`\bTemporaryDirectory\b`)
	otherName  = pattern.New(`\.\s*name\s*=[^=]`)
	// above are the directory that contains the one that the code starts in.
	above = pattern.New(`(?:\b(?:Path|pathlib\.Path)\s*\.\s*cwd\s*\(\s*\)|\bPath\s*\(\s*(?:"\d+")?\s*\)\s*\.\s*(?:resolve|absolute)\s*\(\s*\))\s*\.\s*parents?\b|\bdirname\s*\(\s*(?:os\.getcwd|process\.cwd|getcwd|Dir\.pwd|cwd)\b`)
	// entersResolved is where code goes to a directory that a call has made absolute.
	entersResolved = pattern.New(`\bchdir\s*\(?\s*[\w:.]*(?:path|resolve)\w*\s*\(\s*"(\d+)"`)
	// roots are the top of all directories.
	roots = pattern.New(`\.\s*(?:absolute|resolve|cwd)\s*\(\s*\)\s*\.\s*(?:anchor|root|drive)\b|\bpath\.parse\s*\(\s*process\.cwd\s*\(\s*\)\s*\)\s*\.\s*root\b`)
	// expandsHome is where a string is expanded that may name the home directory by its variable.
	expandsHome = pattern.New(`\bexpandvars\s*\(\s*"(\d+)"`)
	// compiles makes code of a string; doctests run what stands behind a prompt.
	compiles = pattern.New(`(?:^|[^.\w])compile\s*\(`)
	doctests = pattern.New(`\bdoctest\b`)
	// files are those that Perl runs, and globs what it finds by a pattern.
	perlFiles = pattern.New(`\b(?:do|require)\s*\(?\s*"(\d+)"`)
	perlGlobs = pattern.New(`<\s*((?:/|\.\./|~)[^<>"\n]*)>`)
	// perlRuns are the functions of modules of Perl that start commands.
	perlRuns    = pattern.New(`\b(?:run|run3|run_forked|capture|capturex|systemx|runx|harness|start|can_run)\b\s*`)
	perlModules = pattern.New(`\b(?:IPC::(?:Cmd|Run3?|System::Simple)|Proc::\w+|Capture::Tiny)\b`)
	// handleFirst are the handles that a call of open2 or open3 gets before the command.
	handleFirst = pattern.New(`^\(?\s*(?:(?:(?:my|local|our)\s+)?(?:\\?\*)?[$\w:{}<>&]+\s*(?:=\s*\w+)?|"\d+"|undef)\s*,`)
	// commandFiles is the list of files that Perl reads, of which one may be a command.
	commandFiles = pattern.New(`\bARGV\b`)
)

// idioms adds what code does by means of its language that stand by themselves.
func (s *skeleton) idioms(language, code string, depth int, out *[]Effect) {
	if walk := walks[language]; walk != nil && walk.MatchString(s.worth(walk)) && leaves[language].MatchString(s.code) {
		*out = append(*out, Effect{Kind: Delete, Text: "a walk from the leaves that removes directories"})
	}
	if above.MatchString(s.worth(above)) {
		*out = append(*out, Effect{Kind: Path, Text: ".."})
	}
	for _, m := range entersResolved.FindAllStringSubmatch(s.worth(entersResolved)) {
		if dir, _ := s.text(m[1]); dir != "" {
			*out = append(*out, Effect{Kind: Path, Text: dir})
		}
	}
	switch language {
	case "python":
		s.pythonIdioms(code, depth, out)
	case "perl":
		s.perlIdioms(out)
	}
}

func (s *skeleton) pythonIdioms(code string, depth int, out *[]Effect) {
	if roots.MatchString(s.worth(roots)) {
		*out = append(*out, Effect{Kind: Path, Text: "/"})
	}
	for _, m := range expandsHome.FindAllStringSubmatch(s.worth(expandsHome)) {
		if text, _ := s.text(m[1]); strings.HasPrefix(text, "$HOME/") || strings.HasPrefix(text, "${HOME}/") {
			*out = append(*out, Effect{Kind: Path, Text: "~/" + text[strings.IndexByte(text, '/')+1:]})
		}
	}
	if renamedOwn.MatchString(s.worth(renamedOwn)) && otherName.MatchString(s.code) && strings.Contains(s.code, "cleanup") {
		*out = append(*out, Effect{Kind: Delete, Text: "cleanup of a directory under another name"})
	}
	for _, m := range compiles.FindAllStringIndex(s.worth(compiles)) {
		if *s.left < 0 {
			return
		}
		for _, l := range s.referenced(s.region(m[1] - 1)) {
			if len(l.text) > len("exec") && l.text != "single" {
				*out = append(*out, script("python", l.text, depth+1, s.left, false)...)
			}
		}
	}
	if strings.Contains(code, ">>>") && doctests.MatchString(s.code) {
		for _, l := range s.literals {
			for _, line := range strings.Split(l.text, "\n") {
				if _, code, ok := strings.Cut(line, ">>> "); ok && *s.left >= 0 {
					*out = append(*out, script("python", code, depth+1, s.left, false)...)
				}
			}
		}
	}
}

func (s *skeleton) perlIdioms(out *[]Effect) {
	for _, m := range perlFiles.FindAllStringSubmatch(s.worth(perlFiles)) {
		if file, ok := s.text(m[1]); ok && (strings.Contains(file, "/") || strings.Contains(file, ".")) {
			*out = append(*out, Effect{Kind: Argv, Argv: []string{"perl", file}})
		}
	}
	for _, m := range perlGlobs.FindAllStringSubmatch(s.worth(perlGlobs)) {
		*out = append(*out, Effect{Kind: Path, Text: strings.TrimSpace(m[1])})
	}
	if perlModules.MatchString(s.worth(perlModules)) {
		for _, m := range perlRuns.FindAllStringIndex(s.code) {
			if e := s.command(s.region(m[1])); m[0] == 0 || strings.IndexByte("$@%>", s.code[m[0]-1]) < 0 && e.Kind != Dynamic {
				*out = append(*out, e)
			}
		}
	}
	if commandFiles.MatchString(s.worth(commandFiles)) {
		for _, l := range s.literals {
			if command := strings.TrimSpace(l.text); strings.HasSuffix(command, "|") && strings.Contains(command, " ") {
				*out = append(*out, Effect{Kind: Shell, Text: strings.TrimSuffix(command, "|")}) // as a file that is read
			}
		}
	}
}

// decodes are functions by which code makes texts that don't stand in it.
var decodes = pattern.New(`\b(?:chr|fromhex|unhexlify|b(?:64|32|85)decode|a85decode|decode_base64|base64_decode|decode64|str_rot13|rot13|rot_13|decompress|gunzipSync|inflateSync|gzinflate|fromCharCode|fromCodePoint|atob|pack|unpack|maketrans|swapcase|strrev|quopri|uudecode|unescape|decodeURI(?:Component)?|linesep|PHP_EOL)\b|\bBuffer\s*\.\s*from\b|\bcodecs\s*\.\s*decode\b|%c|\[::-1\]|\breverse\b`)

// Decodes says whether code makes texts that don't stand in it as they are.
func Decodes(code string) bool { return decodes.MatchString(code) }

// withoutHandles are the arguments of open2 or open3 without the handles.
func withoutHandles(args string, handles int) string {
	for ; handles > 0; handles-- {
		m := handleFirst.FindStringIndex(args)
		if m == nil {
			return args
		}
		args = "(" + args[m[1]:]
	}
	return args
}

// cased applies the marks of a string of Perl that change whether letters are capitals.
func cased(text string) string {
	var b strings.Builder
	mode, next := byte('E'), byte(0)
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
			switch text[i] {
			case 'L', 'U', 'E', 'Q', 'F':
				mode = text[i]
			case 'l', 'u':
				next = text[i]
			default:
				b.WriteString(text[i-1 : i+1])
			}
			continue
		}
		letter := text[i : i+1]
		switch {
		case next == 'l' || next == 0 && (mode == 'L' || mode == 'F'):
			letter = strings.ToLower(letter)
		case next == 'u' || mode == 'U':
			letter = strings.ToUpper(letter)
		}
		next = 0
		b.WriteString(letter)
	}
	return b.String()
}

// cases are the marks that change letters.
func cases(text string) bool {
	return strings.Contains(text, `\L`) || strings.Contains(text, `\U`) || strings.Contains(text, `\l`) || strings.Contains(text, `\u`)
}

// signNames are characters by their names in Unicode.
var signNames = map[string]rune{"SPACE": ' ', "HYPHEN-MINUS": '-', "SOLIDUS": '/', "FULL STOP": '.', "SEMICOLON": ';', "VERTICAL LINE": '|', "TILDE": '~', "ASTERISK": '*',
	"LOW LINE": '_', "COLON": ':', "AMPERSAND": '&', "DOLLAR SIGN": '$', "LEFT PARENTHESIS": '(', "RIGHT PARENTHESIS": ')', "LINE FEED": '\n', "CHARACTER TABULATION": '\t', "QUOTATION MARK": '"', "APOSTROPHE": '\''}

// characterOf is a character by its name; the mark of another one if the name isn't known.
func characterOf(name string) rune {
	name = strings.ToUpper(name)
	if rest, ok := strings.CutPrefix(name, "LATIN SMALL LETTER "); ok && len(rest) == 1 {
		return rune(rest[0] | 0x20)
	}
	if rest, ok := strings.CutPrefix(name, "LATIN CAPITAL LETTER "); ok && len(rest) == 1 {
		return rune(rest[0])
	}
	if rest, ok := strings.CutPrefix(name, "DIGIT "); ok {
		for n, digit := range strings.Fields("ZERO ONE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE") {
			if rest == digit {
				return rune('0' + n)
			}
		}
	}
	if r, ok := signNames[name]; ok {
		return r
	}
	return '\uFFFD'
}
