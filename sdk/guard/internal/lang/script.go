package lang

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// literal is a string in a script.
type literal struct {
	text string
	tick bool // between backticks
	raw  bool // may hold interpolated variables
}

// skeleton is code with its comments removed and every string literal replaced by "N", N its index.
type skeleton struct {
	code     string
	literals []literal
}

var (
	// starts are calls that start a command.
	starts = regexp.MustCompile(`\b(os\.(?:system|popen|exec\w*|spawn\w*|posix_spawn\w*|execute)|subprocess\.\w+|pty\.spawn|commands\.\w+|io\.popen|IO\.popen|Open3\.\w+|` +
		`Kernel\.(?:system|exec|spawn)|system|popen|Popen|check_output|check_call|getoutput|getstatusoutput|exec|spawn|execSync|execFile|execFileSync|spawnSync|shell_exec|passthru|proc_open|` +
		`pcntl_exec|qx|os\.startfile|Deno\.run|Deno\.Command|Bun\.spawn|Bun\.spawnSync|do shell script|run_command|shellout|webbrowser\.open|System\.cmd|System\.shell|os\.cmd|os:cmd)\b\s*`)
	// lisps are calls that start a command in languages that put the bracket before the name.
	lisps = regexp.MustCompile(`\(\s*(?:system\*?|shell-command\S*|async-shell-command|call-process\S*|start-process\S*|run-program|sb-ext:run-program|uiop:run-program|shell|sh)\s`)
	// pipes are calls whose argument is a command where it begins or ends with a bar, as in Perl and Ruby.
	pipes     = regexp.MustCompile(`\bopen\b\s*`)
	evals     = regexp.MustCompile(`\b(eval|exec|compile|__import__|execfile|loadstring|dofile|runInThisContext|runInNewContext|assert|create_function|instance_eval|class_eval|Function)\s*\(`)
	trees     = regexp.MustCompile(`\b(rmtree|rm_rf|rm_r|remove_entry|remove_entry_secure|remove_dir|remove_tree|rimraf|deltree|remove_dir_all|remove-tree|emptyDirSync|removeSync|removedirs|delete-directory|rm_r!|rm_rf!)\b|\bunlink\b[^;\n]*\brecursive\b`)
	nodeTree  = regexp.MustCompile(`\b(rm|rmSync|rmdir|rmdirSync|remove)\s*\(`)
	kills     = regexp.MustCompile(`\b(kill|killpg)\b\s*`)
	nine      = regexp.MustCompile(`\b9\b|KILL`)
	octal     = regexp.MustCompile(`0?o?([0-7]{3,4})\b`)
	modes     = regexp.MustCompile(`\b(chmod|fchmod|chmodSync|lchmod)\b\s*`)
	owners    = regexp.MustCompile(`\b(chown|fchown|lchown|chownSync|setuid|seteuid|setreuid|setresuid)\b\s*\(?`)
	forks     = regexp.MustCompile(`\bfork\b`)
	loops     = regexp.MustCompile(`\b(while|until|loop|forever|times)\b|for\s*\(\s*;`)
	sockets   = regexp.MustCompile(`(?i)\b(socket|TCPSocket|fsockopen|IO::Socket\w*|net\.connect|createConnection|UNIXSocket)\b`)
	duplexes  = regexp.MustCompile(`\b(dup2|fdopen|/bin/sh|pty|spawn|exec)\b|>&`)
	getattrs  = regexp.MustCompile(`\b(getattr\s*\(\s*(os|subprocess|shutil|__builtins__|builtins)|__builtins__|__subclasses__|globals\s*\(\s*\)\s*\[|importlib\.import_module|process\.binding|\.constructor\.constructor|Object\.const_get|public_send|__send__)`)
	inStart   = regexp.MustCompile(`^[\s\[\](),]*$`)
	reference = regexp.MustCompile(`"(\d+)"`)
	keyword   = regexp.MustCompile(`\b(shell|check|text|capture_output|stdout|stderr|stdin|universal_newlines|cwd|timeout|encoding|stdio|exception|out|err|input)\s*[=:]>?\s*([\w.]+|"\d+")`)
)

// Script says what code of a scripting language does, judging by its calls and strings.
func Script(language, code string) []Effect {
	if strings.ContainsAny(code, "\x00") {
		return []Effect{{Kind: Dynamic, Text: "the code holds NUL bytes"}}
	}
	s := strip(language, code)
	var out []Effect
	if language == "python" {
		s.imports()
		for _, line := range strings.Split(code, "\n") {
			if command, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
				out = append(out, Effect{Kind: Shell, Text: command}) // IPython's
			}
		}
	}
	commands := s.commands(language, &out)
	if m := evals.FindStringSubmatchIndex(s.code); m != nil && (language != "node" || s.code[m[2]:m[3]] != "exec") {
		word := s.code[m[2]:m[3]]
		method := m[2] > 0 && s.code[m[2]-1] == '.'
		if !method && (word != "exec" || language == "python") && word != "assert" || language == "php" {
			out = append(out, Effect{Kind: Dynamic, Text: word + " runs code that is only known when it runs"})
		}
	}
	if m := getattrs.FindString(s.code); m != "" {
		out = append(out, Effect{Kind: Dynamic, Text: m + " reaches functions by names that are only known when it runs"})
	}
	if trees.MatchString(s.code) {
		out = append(out, Effect{Kind: Delete, Text: trees.FindString(s.code)})
	} else if m := nodeTree.FindStringIndex(s.code); m != nil && strings.Contains(s.region(m[1]), "recursive") {
		out = append(out, Effect{Kind: Delete, Text: "rm"})
	}
	s.signals(&out)
	if forks.MatchString(s.code) && loops.MatchString(s.code) {
		out = append(out, Effect{Kind: ForkBomb, Text: "fork in a loop"})
	}
	if sockets.MatchString(s.code) && (commands || duplexes.MatchString(s.code)) {
		out = append(out, Effect{Kind: Remote, Text: sockets.FindString(s.code)})
	}
	return append(out, s.paths()...)
}

// signals finds calls that kill, and that change permissions or owners.
func (s *skeleton) signals(out *[]Effect) {
	for _, m := range kills.FindAllStringIndex(s.code, -1) {
		if args := s.expand(s.region(m[1])); nine.MatchString(args) {
			*out = append(*out, Effect{Kind: Kill, Text: "kill"})
		}
	}
	for _, m := range modes.FindAllStringIndex(s.code, -1) {
		if mode := octal.FindStringSubmatch(s.region(m[1])); mode != nil {
			*out = append(*out, Effect{Kind: Argv, Argv: []string{"chmod", mode[1], "file"}})
		}
	}
	if m := owners.FindStringSubmatch(s.code); m != nil {
		*out = append(*out, Effect{Kind: Mode, Text: m[1]})
	}
}

// commands finds the commands that are started. It says whether there are any.
func (s *skeleton) commands(language string, out *[]Effect) bool {
	found := false
	for _, l := range s.literals {
		if l.tick && language != "node" && language != "python" && language != "lua" {
			*out = append(*out, Effect{Kind: Shell, Text: l.text})
			found = true
		}
	}
	for _, m := range lisps.FindAllStringIndex(s.code, -1) {
		*out = append(*out, s.command(s.region(m[0])))
		found = true
	}
	for _, m := range pipes.FindAllStringSubmatchIndex(s.code, -1) {
		for _, l := range s.referenced(s.region(m[1])) {
			if command := strings.Trim(l.text, " \t"); strings.HasPrefix(command, "|") || strings.HasSuffix(command, "|") {
				*out = append(*out, Effect{Kind: Shell, Text: strings.Trim(command, "| ")})
				found = true
			}
		}
	}
	for _, m := range starts.FindAllStringSubmatchIndex(s.code, -1) {
		name := s.code[m[2]:m[3]]
		before := s.code[:m[2]]
		switch {
		case strings.HasPrefix(name, "subprocess.") && strings.Trim(name[11:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "":
			continue // subprocess.PIPE
		case language == "node" && (name == "exec" || name == "spawn") && !strings.Contains(s.all(), "child_process"):
			continue // RegExp.exec
		case strings.HasSuffix(before, "platform."), strings.HasSuffix(before, "def "), strings.HasSuffix(before, "function "), strings.HasSuffix(before, "import "):
			continue
		case name == "exec" && language == "python":
			continue // runs Python, not a command
		case strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "child_process.") && name == "system":
			continue
		}
		rest := s.code[m[1]:]
		if !strings.HasPrefix(rest, "(") && language != "perl" && language != "ruby" && name != "qx" && name != "do shell script" {
			continue
		}
		found = true
		*out = append(*out, s.command(s.region(m[1])))
	}
	return found
}

// command is the effect of a call that starts a command with these arguments.
func (s *skeleton) command(args string) Effect {
	args = keyword.ReplaceAllString(args, "")
	words := reference.FindAllStringSubmatch(args, -1)
	rest := reference.ReplaceAllString(args, "")
	var argv []string
	for _, w := range words {
		n, _ := strconv.Atoi(w[1])
		argv = append(argv, s.literals[n].text)
	}
	constant := inStart.MatchString(rest)
	switch {
	case len(argv) == 0:
		return Effect{Kind: Dynamic, Text: "it starts a command that is only known when it runs"}
	case strings.Contains(rest, "[") || strings.Contains(rest, ","):
		if !constant {
			argv = append(argv, shell.Unknown)
		}
		if argv[0] != "" && strings.ContainsAny(argv[0], " ") && len(argv) == 1 {
			return Effect{Kind: Shell, Text: argv[0]}
		}
		return Effect{Kind: Argv, Argv: argv}
	case !constant:
		return Effect{Kind: Shell, Text: strings.Join(argv, shell.Unknown) + shell.Unknown}
	}
	return Effect{Kind: Shell, Text: strings.Join(argv, "")}
}

// region returns the arguments of a call: up to the bracket that closes it, or to the end of the statement.
func (s *skeleton) region(at int) string {
	depth := 0
	for i := at; i < len(s.code); i++ {
		switch s.code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth <= 0 {
				return s.code[at : i+1]
			}
		case ';', '\n':
			if depth == 0 {
				return s.code[at:i]
			}
		}
	}
	return s.code[at:]
}

// expand puts the literals back.
func (s *skeleton) expand(code string) string {
	return reference.ReplaceAllStringFunc(code, func(ref string) string {
		n, _ := strconv.Atoi(strings.Trim(ref, `"`))
		return s.literals[n].text
	})
}

func (s *skeleton) all() string {
	var b strings.Builder
	b.WriteString(s.code)
	for _, l := range s.literals {
		b.WriteString(l.text)
	}
	return b.String()
}

// referenced are the literals in a part of the code.
func (s *skeleton) referenced(code string) []literal {
	var out []literal
	for _, m := range reference.FindAllStringSubmatch(code, -1) {
		n, _ := strconv.Atoi(m[1])
		out = append(out, s.literals[n])
	}
	return out
}
