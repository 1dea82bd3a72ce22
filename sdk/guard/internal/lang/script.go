package lang

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	// starts are calls that start a command.
	starts = pattern.New(`\b(exec\.Command(?:Context)?|(?:os|posix|nt)\.(?:system|popen|exec\w*|spawn\w*|posix_spawn\w*|execute)|subprocess\.\w+|pty\.spawn|commands\.get\w+|(?:asyncio\.)?create_subprocess_(?:shell|exec)|POSIX::exec\w+|io\.popen|IO\.popen|Open3\.\w+|` +
		`Kernel\.(?:system|exec|spawn)|system|popen|Popen|open2|open3|check_output|check_call|getoutput|getstatusoutput|exec|spawn|shell|execSync|execFile|execFileSync|spawnSync|shell_exec|passthru|proc_open|` +
		`pcntl_exec|qx|readpipe|os\.startfile|Deno\.run|Deno\.Command|Bun\.spawn|Bun\.spawnSync|do shell script|run_command|shellout|webbrowser\.open|System\.cmd|System\.shell|os\.cmd|os:cmd)\b\s*`)
	// lisps are calls that start a command in languages that put the bracket before the name.
	lisps = pattern.New(`\(\s*(?:[\w.-]+/)?(?:system\*?|shell-command\S*|async-shell-command|call-process\S*|start-process\S*|run-program|sb-ext:run-program|uiop:run-program|shell|sh)\s|\(\s*(?:[\w.-]+/)?(?:process|exec)\s+\[?\s*"\d+"`)
	// pipes are calls whose argument is a command where it begins or ends with a bar, as in Perl and Ruby.
	pipes = pattern.New(`\b(?:open|IO\.(?:read|readlines|foreach|binread))\b\s*`)
	evals = pattern.New(`\b(eval|exec|__import__|execfile|loadstring|dofile|runInThisContext|runInNewContext|assert|create_function|instance_eval|class_eval|Function)\s*\)?\s*\(`)
	runpy = pattern.New(`\brun_path\s*\(\s*"(\d+)"`)
	// ofOutput is eval of a string, which may be between backticks.
	ofOutput = pattern.New(`\b(?:eval|instance_eval|class_eval|module_eval)\b[\s({]*"(\d+)"`)
	// ofFile are the arguments of an eval of all that a file holds.
	ofFile = pattern.New(`^\(\s*(?:compile\s*\(\s*)?(?:open\s*\(\s*"(\d+)"[^()]*\)\s*\.\s*read\s*\(\s*\)|(?:pathlib\s*\.\s*)?Path\s*\(\s*"(\d+)"\s*\)\s*\.\s*read_text\s*\([^()]*\)|File\s*\.\s*read\s*\(\s*"(\d+)"\s*\)|(?:fs|require\s*\(\s*"\d+"\s*\))\s*\.\s*readFileSync\s*\(\s*"(\d+)"[^()]*\)(?:\s*\.\s*toString\s*\([^()]*\))?)\s*[,)]`)
	// handedEval is eval as an argument, or put somewhere.
	handedEval = pattern.New(`[(,=:?|&]\s*eval\s*(?:[,;)}\]\n]|$)`)
	// loaders set a variable in an environment.
	loaders  = pattern.New(`"(\d+)"\s*(?:\]|\})?\s*(?::|=>|=)|\b(?:putenv|setenv)\s*\(?\s*"(\d+)"|\b(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV)\s*\}?\s*(?::|=)`)
	bareEval = pattern.New(`\beval\s*(?:[$@<&;})]|$)`)
	syscalls = pattern.New(`\bsyscall\b\s*\(?\s*[\w"$&:]`)
	trees    = pattern.New(`\b(rmtree|rm_rf|rm_r|remove_entry|remove_entry_secure|remove_dir|remove_tree|rimraf|deltree|remove_dir_all|remove-tree|_rmtree|emptyDirSync|removeSync|removedirs|delete-directory|delete-tree|rm_r!|rm_rf!)\b|\bunlink\b[^;\n]*\brecursive\b`)
	nodeTree = pattern.New(`\b(rm|rmSync|rmdir|rmdirSync|remove)\s*\(`)
	// nodeTreeOn is the same function where it is handed on.
	nodeTreeOn = pattern.New(`\.\s*(?:rm|rmSync|rmdir|rmdirSync)\b\s*(?:[\],);]|\.\s*(?:call|apply|bind)\b)`)
	kills      = pattern.New(`\b(kill|killpg)\b\s*`)
	nine       = pattern.New(`\b9\b|KILL`)
	octal      = pattern.New(`0?o?([0-7]{3,4})\b`)
	modes      = pattern.New(`\b(chmod|fchmod|chmodSync|lchmod)\b\s*`)
	owners     = pattern.New(`\b(chown|fchown|lchown|chownSync|setuid|seteuid|setreuid|setresuid)\b\s*\(?`)
	forks      = pattern.New(`\bfork\b`)
	loops      = pattern.New(`\b(while|until|loop|forever|times)\b|for\s*\(\s*;`)
	sockets    = pattern.New(`(?i)\b(socket|TCPSocket|fsockopen|IO::Socket\w*|net\.connect|createConnection|UNIXSocket)\b`)
	duplexes   = pattern.New(`\b(dup2|fdopen|/bin/sh|pty|spawn|exec)\b|>&`)
	getattrs   = pattern.New(`\b(getattr\s*\(\s*(os|subprocess|shutil|__builtins__|builtins)|__builtins__|\bvars\s*\(\s*\w+\s*\)\s*\[|\.__dict__\s*\[|__subclasses__|globals\s*\(\s*\)\s*\[|importlib\.import_module|process\.binding|\.constructor\.constructor|Object\.const_get|public_send|__send__)`)
	// setsPlainly is a variable that Python sets by its name to what is no text, and no function.
	setsPlainly = pattern.New(`^globals\s*\(\s*\)\s*\[\s*"\d+"\s*\]\s*=\s*(?:-?\d[\d.]*|True|False|None)\s*(?:[;\n]|$)`)
	// otherMode is a mode of a file as a number that isn't octal, or as a string, and allModes one by the names of its bits.
	otherMode = pattern.New(`,\s*(?:([1-9]\d{2}|0x[0-9a-fA-F]+)|"(\d+)")\s*[,)]`)
	allModes  = pattern.New(`\bS_I(?:RWXO|WOTH)\b`)
	// computed are arguments of which the first is made by something that isn't followed.
	computed = pattern.New(`^[\s\[(*]*(?:(?:scalar\s+)?(?:reverse|lc|lcfirst|uc|ucfirst|substr|unpack|sprintf|split|map|grep|sort|delete|values|each)\b|\{\s*"\d+"\s*:|\[\s*\.\.\.|\[[^\[\]]*\]\s*\.\s*(?:reverse|map|join|concat|slice)\b|Buffer\s*\.\s*from\b|"\d+"\s*(?:\.\s*(?:join|concat|split\s*\(\s*"\d+"[^()]*\)\s*\[|replace|reverse|translate|decode|encode|lower|swapcase|map|tr|sub|gsub|slice|substr|substring|unpack\w*|rot13)\b|\[)|[A-Za-z_][\w.]*\s*\([^()]*"\d+"[^()]*\)\s*\.|(?:os\s*\.\s*)?(?:environ|getenv)\b|process\s*\.\s*env\b|\$?ENV\s*[\[{]|\$_(?:ENV|GET|POST|SERVER)\b|(?:[A-Za-z_][\w.]*)?\b(?:fromCharCode|b64decode|atob|unhexlify|fromhex|pack|decode64)\b)`)
	// interpolations are expressions within strings of Perl.
	interpolations = pattern.New(`[@$]\{\s*[\[\\](?:[^{}]|\{[^{}]*\})*\}`)
	programName    = pattern.New(`^[\w./-]*[A-Za-z][\w.-]*$`)
	// variableFirst are the arguments of a call that starts a program which a variable names.
	variableFirst = pattern.New(`^[\s(.]*(?:\[\s*(?:\*|\.\.\.)?\s*[A-Za-z_$][\w.]*\s*,|[A-Za-z_$][\w.]*\s*[,+]\s*\[)`)
	// variableNext is the same of a function that takes the arguments of the program one by one.
	variableNext = pattern.New(`^[\s(\[]*[$@]?[A-Za-z_][\w.]*(?:\s*\[\s*-?\d+\s*\])?\s*,`)
	inStart      = pattern.New(`^[\s\[\](),*]*$`)
	perlMode     = pattern.New(`^\s*\(?\s*(0[0-7]*|[1-9]\d*)\s*,`)
	reference    = pattern.New(`"(\d+)"`)
	executable   = pattern.New(`\bexecutable\s*=\s*"(\d+)"\s*,?`)
	noKeywords   = pattern.New(`,\s*\{[\s,]*\}`)
	keyword      = pattern.New(`\b(shell|check|text|capture_output|stdout|stderr|stdin|universal_newlines|cwd|timeout|encoding|stdio|stdin_data|chdir|binmode|bufsize|exception|out|err|input)\s*[=:]>?\s*([\w.]+|"\d+")`)
)

// Script says what code of a scripting language does, judging by its calls and strings.
func Script(language, code string) []Effect {
	left := maxNested
	return script(language, code, 0, &left, false)
}

// script is Script of code at a depth of code within code, of which so much may still be read. What unheard code prints isn't looked for.
func script(language, code string, depth int, left *int, unheard bool) []Effect {
	if *left -= len(code) + depth*perScript; depth > maxScripts || depth > 0 && *left < 0 {
		return []Effect{{Kind: Dynamic, Text: "code in strings of code, too deep to follow"}}
	}
	if strings.ContainsAny(code, "\x00") {
		return []Effect{{Kind: Dynamic, Text: "the code holds NUL bytes"}}
	}
	s := strip(language, code)
	s.left = left
	var out []Effect
	if language == "python" {
		if !s.imports() {
			out = append(out, Effect{Kind: Dynamic, Text: "the code imports too much to follow"})
		}
		for _, line := range strings.Split(code, "\n") {
			if command, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
				out = append(out, Effect{Kind: Shell, Text: command}) // IPython's
			}
		}
	}
	s.adapts()
	s.maps()
	if language == "go" {
		out = append(out, generated(code)...)
		s.golang(&out)
	}
	s.fold(language)
	if depth == 0 && !unheard {
		out = append(out, s.printed(language)...)
	}
	out = append(out, s.writes(language)...)
	if strings.Contains(code, "package.json") && strings.Contains(code, "scripts") {
		out = append(out, s.packaged()...)
	}
	commands := s.commands(language, &out)
	out = s.inserted(out)
	s.idioms(language, code, depth, &out)
	s.nested(language, depth, &out)
	for _, m := range evals.FindAllStringSubmatchIndex(s.worth(evals)) {
		word := s.code[m[2]:m[3]]
		if language == "node" && strings.HasSuffix(strings.TrimRight(s.code[:m[2]], "$"), ".") && s.code[m[2]-1] == '$' {
			continue // a method of another name, such as page.$eval
		}
		method := m[2] > 0 && s.code[m[2]-1] == '.' && !everywhere(s.code[:m[2]])
		if language != "php" && s.isConstant(m[1]-1) {
			continue // it is code like the rest
		}
		if language == "python" && word == "exec" && s.ownMethod(m[2]) {
			continue
		}
		if file, ok := s.evaluatedFile(m[1] - 1); ok {
			out = append(out, Effect{Kind: Argv, Argv: []string{language, file}})
			continue
		}
		if !method && (word != "exec" || language == "python") && word != "assert" || language == "php" && word != "exec" {
			out = append(out, Effect{Kind: Dynamic, Text: word + " runs code that is only known when it runs"})
			break
		}
	}
	for _, m := range ofOutput.FindAllStringSubmatch(s.worth(ofOutput)) {
		if s.isOutput(m[1]) {
			out = append(out, Effect{Kind: Dynamic, Text: "eval runs what a command prints"})
			break
		}
	}
	if m := runpy.FindStringSubmatch(s.worth(runpy)); m != nil {
		if file, ok := s.text(m[1]); ok && strings.HasPrefix(file, "/dev/") {
			out = append(out, Effect{Kind: Dynamic, Text: "it runs what it reads from " + file})
		}
	}
	if language == "node" && handedEval.MatchString(s.worth(handedEval)) {
		out = append(out, Effect{Kind: Dynamic, Text: "eval is called with what is only known when it runs"})
	}
	if language == "python" && disguised(s.code) {
		out = append(out, Effect{Kind: Dynamic, Text: "Python takes letters of other alphabets in the code for plain ones"})
	}
	if strings.Contains(code, "LD_") || strings.Contains(code, "BASH_ENV") {
		s.loads(&out)
	}
	if language == "python" && pickled.MatchString(s.worth(pickled)) {
		out = append(out, Effect{Kind: Dynamic, Text: "an object that is made of a string may be made by any function"})
	}
	if language == "perl" && (bareEval.MatchString(s.worth(bareEval)) || evaluates(code)) {
		out = append(out, Effect{Kind: Dynamic, Text: "eval runs code that is only known when it runs"})
	}
	if (language == "perl" || language == "ruby") && syscalls.MatchString(s.worth(syscalls)) {
		out = append(out, Effect{Kind: Dynamic, Text: "syscall does whatever the kernel can"})
	}
	for _, m := range getattrs.FindAllStringIndex(s.worth(getattrs)) {
		name := s.code[m[0]:m[1]]
		if language == "python" && (name == "importlib.import_module" && s.importsPlain(s.region(m[1])) || setsPlainly.MatchString(s.code[m[0]:min(len(s.code), m[1]+maxTold)])) {
			continue
		}
		out = append(out, Effect{Kind: Dynamic, Text: name + " reaches functions by names that are only known when it runs"})
		break
	}
	if language == "python" && ownTree(code) {
		s.code, s.started = strings.ReplaceAll(s.code, "rmtree", "rmdir"), nil
	}
	if tree := s.named(language, trees); tree != "" {
		out = append(out, Effect{Kind: Delete, Text: tree})
	} else if s.removesTree() || language == "node" && s.named(language, nodeTreeOn) != "" && strings.Contains(s.all(), "recursive") {
		out = append(out, Effect{Kind: Delete, Text: "rm"})
	}
	s.signals(&out)
	if language == "perl" {
		s.perlVariables(out)
	}
	s.environment(out)
	if forks.MatchString(s.worth(forks)) && loops.MatchString(s.code) {
		out = append(out, Effect{Kind: ForkBomb, Text: "fork in a loop"})
	}
	if (commands && s.mayConnect(out) || duplexes.MatchString(s.worth(duplexes))) && sockets.MatchString(s.code) {
		out = slices.Insert(out, 0, Effect{Kind: Remote, Text: sockets.FindString(s.code)}) // it counts more than the command does
	}
	if paths := s.paths(language); len(paths) > 0 && (depth > 0 || !calculates(language, code)) {
		out = append(out, paths...)
	}
	return out
}

// wired is what a command of Python's gets for its input and output, and streams is what may be nothing but that of the code itself.
var (
	wired   = pattern.New(`\b(?:stdin|stdout|stderr|input)\s*=\s*([A-Za-z_][\w.]*)`)
	streams = names(`PIPE DEVNULL STDOUT subprocess.PIPE subprocess.DEVNULL subprocess.STDOUT None sys.stdin sys.stdout sys.stderr`)
)

// mayConnect says whether code that uses sockets may connect a command with one: it isn't known what it starts, a shell is started, or a
// command is given something else to read or to write to.
func (s *skeleton) mayConnect(effects []Effect) bool {
	elsewhere := func(m []string) bool { return !streams[m[1]] }
	return s.language != "python" || slices.ContainsFunc(wired.FindAllStringSubmatch(s.worth(wired)), elsewhere) || slices.ContainsFunc(effects, func(e Effect) bool {
		words := strings.Fields(e.Text)
		switch e.Kind {
		case Dynamic:
			return true
		case Argv:
			return len(e.Argv) > 0 && interpreters[shell.Name(e.Argv[0])]
		case Shell:
			return len(words) == 0 || interpreters[shell.Name(words[0])]
		}
		return false
	})
}

// evaluatedFile is the file that the code evaluates by a call: it is run like any script. What isn't a file in a directory isn't known.
func (s *skeleton) evaluatedFile(at int) (string, bool) {
	m := ofFile.FindStringSubmatch(s.region(at))
	if m == nil {
		return "", false
	}
	file, ok := s.text(m[1] + m[2] + m[3] + m[4])
	clean := path.Clean(file)
	return file, ok && !strings.HasPrefix(clean, "/dev/") && !strings.HasPrefix(clean, "/proc/") && clean != "-"
}

// loading are the variables of an environment that make programs load code.
var loading = names("LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV")

// loads finds where code sets such a variable.
func (s *skeleton) loads(out *[]Effect) {
	for _, m := range loaders.FindAllStringSubmatch(s.code) {
		if name, ok := s.text(m[1] + m[2]); ok && loading[name] || m[3] != "" {
			*out = append(*out, Effect{Kind: Environment, Text: name + m[3]})
			return
		}
	}
}

// disguised says whether code has letters that Python takes for plain ones.
func disguised(code string) bool {
	return strings.ContainsFunc(code, func(r rune) bool {
		return r >= 0xFF21 && r <= 0xFF5A || r >= 0x1D400 && r <= 0x1D7FF
	})
}

// everywhere says whether code ends with the object that the global functions are members of.
func everywhere(before string) bool {
	for _, object := range []string{"global.", "globalThis.", "this.", "self.", "window.", "builtins.", "__builtin__."} {
		if strings.HasSuffix(before, object) {
			return true
		}
	}
	return false
}

// signals finds calls that kill, and that change permissions or owners.
func (s *skeleton) signals(out *[]Effect) {
	for _, m := range kills.FindAllStringIndex(s.worth(kills)) {
		if args := s.expand(s.region(m[1])); nine.MatchString(args) {
			*out = append(*out, Effect{Kind: Kill, Text: "kill"})
			break // one is as much as many
		}
	}
	for _, m := range modes.FindAllStringIndex(s.worth(modes)) {
		args := s.region(m[1])
		if mode := s.mode(args); mode != "" {
			*out = append(*out, Effect{Kind: Argv, Argv: []string{"chmod", mode, "file"}})
		} else if allModes.MatchString(args) {
			*out = append(*out, Effect{Kind: Argv, Argv: []string{"chmod", "a+rwx", "file"}})
		}
	}
	if m := owners.FindStringSubmatch(s.worth(owners)); m != nil {
		*out = append(*out, Effect{Kind: Mode, Text: m[1]})
	}
}

// mode is the mode of a file in arguments, as chmod takes it; "" if there is none.
func (s *skeleton) mode(args string) string {
	if m := perlMode.FindStringSubmatch(args); m != nil && s.language == "perl" {
		if bits, err := strconv.ParseInt(m[1], 0, 32); err == nil {
			return strconv.FormatInt(bits, 8)
		}
	}
	if m := otherMode.FindStringSubmatch(args); m != nil {
		bits, err := strconv.ParseInt(m[1], 0, 32)
		if text, ok := s.text(m[2]); ok && m[2] != "" {
			bits, err = strconv.ParseInt(strings.TrimPrefix(text, "0o"), 8, 32)
		}
		if err == nil {
			return strconv.FormatInt(bits, 8)
		}
	}
	if m := octal.FindStringSubmatch(args); m != nil {
		return m[1]
	}
	return ""
}
