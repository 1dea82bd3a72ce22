package programs

import (
	"regexp"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// language is a program that runs code: from an option, a file or its standard input.
type language struct {
	as   string // the canonical name of the program
	lang string
	spec getopt.Spec
	run  special // uses
}

// languages finds interpreters by their name.
var languages = sync.OnceValue(interpreters)

func interpreters() map[string]*language {
	m := map[string]*language{}
	add := func(names, as, lang, code, opts string) {
		spec := stop(getopt.Parse(opts))
		for _, option := range strings.Fields(code) {
			spec.Values[option] = "c"
		}
		for _, name := range strings.Fields(names) {
			l := &language{as: as, lang: lang, spec: spec}
			l.run = l.uses
			m[name] = l
		}
	}
	add("sh bash dash zsh ksh mksh lksh oksh loksh posh ash rbash fish yash csh tcsh pwsh-sh osh ysh murex ion elvish nu xonsh", "", "sh", "", "")
	add("python py pypy pypy3 ipython jython micropython", "python", "python", "-c", "W=d X=s m=m Q=d --check-hash-based-pycs=d")
	add("perl", "", "perl", "-e -E", "I=l M=d m=d F=d x= 0= i= l=")
	add("ruby jruby irb", "ruby", "ruby", "-e", "I=l r=s C=g E=d x= i= F=d")
	add("node nodejs ts-node tsx", "node", "node", "-e --eval", "r=k C=d --require=k --import=k --loader=k --env-file=r --inspect= --test-name-pattern=d --test-reporter=d --test-reporter-destination=w --conditions=d --title=d")
	add("zx", "", "node", "-e --eval", "--cwd=g --shell=d --prefix=d --postfix=d --install= --registry=d")
	add("lua luajit", "lua", "lua", "-e", "l=d")
	add("php", "", "php", "-r -B -R -E", "f=k d=d c=r F=k S=d t=g z=k")
	add("rscript r", "", "r", "-e", "")
	add("osascript", "", "applescript", "-e", "l=d s=d")
	add("julia octave groovy ghc ghci runghc scala scala-cli kotlin ocaml ocamlfind elixir raku perl6 erl", "", "other", "-e -E --eval -eval", "")
	add("racket sbcl clisp clojure clj lein-exec", "", "lisp", "-e -E --eval -eval", "")
	add("bb joker planck lumo", "", "lisp", "-e --eval -x --exec", "-cp=s f=k m=d --file=k --main=d --classpath=s --config=r --nrepl-server=d --socket-repl=d --deps-root=g")
	add("swipl", "", "other", "-g -t --goal", "f=k s=k l=k x=r p=d --on-error=d --on-warning=d")
	add("jshell", "", "other", "", "R=d C=d --class-path=s --startup=k --feedback=d")
	add("guile", "", "lisp", "-c -e", "l=k s=k L=l")
	add("tclsh wish expect", "", "tcl", "-c", "f=k b=k")
	add("awk gawk mawk nawk goawk frawk original-awk", "awk", "awk", "", "F=d v=d f=k i=k e=c E=k l=d --field-separator=d --assign=d --file=k --source=c --include=k --exec=k --load=d")
	add("cmd", "", "cmd", "", "")
	add("powershell pwsh", "powershell", "powershell", "", "")
	return m
}

// uses says what an interpreter runs.
func (l *language) uses(name string, args []shell.Field) []Use {
	switch l.lang {
	case "sh":
		return shellUses(name, args)
	case "cmd", "powershell":
		return windowsShell(l.lang, args)
	}
	if l.as == "node" {
		args = separated(args)
	}
	parsed := l.spec.Parse(shell.Texts(args))
	var uses []Use
	coded, codes, used := false, 0, ""
	for _, opt := range parsed.Options {
		switch {
		case !opt.Has:
		case opt.Roles == "c", l.as == "node" && opt.Name == "--print":
			text := opt.Value
			if l.as == "node" && (opt.Name == "--print" || parsed.Has("-p")) {
				text = printing(text)
			}
			if codes++; l.lang == "perl" && codes == 1 {
				used = modules(parsed)
			}
			if codes <= maxCodes {
				text = used + text
			}
			uses = append(uses, Use{Kind: Code, Lang: l.lang, Text: text})
			coded = true
		case opt.Roles == "m":
			if opt.Value == "code" || opt.Value == "asyncio" {
				return append(uses, Use{Kind: Input, Lang: l.lang}) // Python's console
			}
			// The module's own arguments follow; pip is a program of its own.
			argv := append([]shell.Field{{Text: opt.Value}}, args[min(opt.At+1, len(args)):]...)
			if opt.Value == "pdb" {
				uses = append(uses, Use{Kind: Input, Lang: "pdb"}) // what the debugger is told
			}
			return append(uses, Use{Kind: Command, Argv: argv})
		case opt.Roles == "k" && strings.HasPrefix(opt.Value, "data:"):
			uses = append(uses, Use{Kind: Code, Lang: l.lang, Text: inURL(opt.Value)})
		case opt.Roles == "k":
			uses = append(uses, Use{Kind: Script, Lang: l.lang, Text: opt.Value})
			coded = coded || l.lang != "awk" || opt.Name != "-i" && !opt.Is("--include") // which is beside the program
		case l.lang == "php" && opt.Name == "-d":
			uses = append(uses, phpSetting(opt.Value)...)
		case opt.Roles != "":
			uses = append(uses, Use{Kind: Kind(opt.Roles[0]), Text: opt.Value})
		default:
			uses = append(uses, Use{Kind: Shape, Text: opt.Value})
		}
	}
	if l.lang == "perl" && parsed.Has("-d") {
		uses = append(uses, Use{Kind: Input, Lang: "perl"}) // the debugger takes it for commands
	}
	at := parsed.Operands
	if !coded && l.lang == "lisp" && len(at) > 0 && strings.HasPrefix(args[at[0]].Text, "(") {
		uses = append(uses, Use{Kind: Code, Lang: l.lang, Text: args[at[0]].Text}) // a form of Lisp is no file's name
		at, coded = at[1:], true
	}
	if !coded && l.as == "node" && len(at) > 0 && parsed.Has("-p", "--print") {
		uses = append(uses, Use{Kind: Code, Lang: l.lang, Text: printing(args[at[0]].Text)})
		at, coded = at[1:], true
	}
	if !coded && l.lang == "awk" && len(at) > 0 {
		uses = append(uses, Use{Kind: Code, Lang: "awk", Text: assignments(parsed) + args[at[0]].Text})
		at, coded = at[1:], true
	}
	switch {
	case coded:
	case len(at) == 0 || args[at[0]].Text == "-":
		if !parsed.Has("-V", "-v", "-h", "--version", "--help") && l.lang != "awk" {
			uses = append(uses, Use{Kind: Input, Lang: l.lang})
		}
	case l.lang == "node" && (args[at[0]].Text == "inspect" || args[at[0]].Text == "test"):
	case (name == "node" || name == "nodejs") && parsed.Has("--check", "-c"): // is only read
	default:
		file := at[0]
		uses = append(uses, Use{Kind: Script, Lang: l.lang, Text: args[file].Text, Glob: args[file].Glob})
		rest := args[file+1:] // what the script gets
		if l.lang == "ruby" {
			rest = testArguments(args[file].Text, rest)
		}
		return append(uses, script(args[file].Text, rest)...)
	}
	for _, i := range at {
		if command, ok := strings.CutSuffix(strings.TrimSpace(args[i].Text), "|"); ok && l.lang == "perl" {
			uses = append(uses, sh(command)) // it opens what it reads as its open does
		}
		uses = append(uses, Use{Kind: Shape, Text: args[i].Text, Glob: args[i].Glob})
	}
	return uses
}

// maxCodes is how many pieces of code are read with the modules that Perl is told of.
const maxCodes = 8

// modules are those that Perl is told of by options, as the beginning of its code.
func modules(parsed getopt.Args) string {
	var b strings.Builder
	for _, opt := range parsed.Options {
		if opt.Has && (opt.Name == "-M" || opt.Name == "-m") {
			name, _, _ := strings.Cut(opt.Value, "=")
			b.WriteString("use " + name + ";")
		}
	}
	return b.String()
}

// phpSetting is what a setting of PHP's is for: some name files that it runs.
func phpSetting(setting string) []Use {
	key, value, _ := strings.Cut(setting, "=")
	switch strings.TrimSpace(key) {
	case "auto_prepend_file", "auto_append_file":
		return []Use{{Kind: Script, Lang: "php", Text: strings.Trim(value, `"' `)}}
	case "extension", "zend_extension", "error_log", "include_path", "extension_dir", "opcache.preload", "sendmail_path":
		return []Use{{Kind: Shape, Text: strings.Trim(value, `"' `)}}
	}
	return nil
}

// awkEscaped writes a text so that it stands for itself in a string of awk.
var awkEscaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// assignments are the variables that awk gets by options, as the beginning of a program that sets them.
func assignments(parsed getopt.Args) string {
	var b strings.Builder
	for _, opt := range parsed.Options {
		if name, value, ok := strings.Cut(opt.Value, "="); ok && (opt.Name == "-v" || opt.Is("--assign")) {
			b.WriteString("BEGIN{" + name + `="` + awkEscaped.Replace(value) + "\"}\n")
		}
	}
	return b.String()
}

// cmdCode matches the switches of cmd.exe up to the one that code stands behind.
var cmdCode = regexp.MustCompile(`^(?:/[a-bd-jl-qs-z](?::\w+)?)*/[ckr]`)

// windowsShell takes the arguments of cmd and PowerShell apart.
func windowsShell(lang string, args []shell.Field) []Use {
	texts := shell.Texts(args)
	for i, text := range texts {
		lower := strings.ToLower(text)
		switch {
		case lang == "cmd" && cmdCode.MatchString(lower):
			code := strings.TrimSpace(text[len(cmdCode.FindString(lower)):] + " " + strings.Join(texts[i+1:], " "))
			return []Use{{Kind: Code, Lang: lang, Text: code}}
		case lang == "powershell" && len(lower) > 1 && lower[0] == '-':
			option := lower[1:]
			switch {
			case abbreviates(option, "encodedcommand") || option == "ec":
				return []Use{{Kind: Code, Lang: lang, Text: shell.Unknown}}
			case abbreviates(option, "command"):
				return []Use{{Kind: Code, Lang: lang, Text: strings.Join(texts[i+1:], " ")}}
			case abbreviates(option, "file") && i+1 < len(args):
				return []Use{{Kind: Script, Lang: lang, Text: texts[i+1]}}
			}
		case lang == "powershell" && !strings.HasPrefix(lower, "-") && (i == 0 || !powershellValue(texts[i-1])):
			return []Use{{Kind: Code, Lang: lang, Text: strings.Join(texts[i:], " ")}}
		}
	}
	return []Use{{Kind: Input, Lang: lang}}
}

// powershellValue says whether an option of PowerShell takes the next argument.
func powershellValue(option string) bool {
	option = strings.ToLower(strings.TrimPrefix(option, "-"))
	for _, name := range []string{"executionpolicy", "windowstyle", "version", "inputformat", "outputformat", "configurationname", "workingdirectory", "ep"} {
		if option != "" && abbreviates(option, name) {
			return true
		}
	}
	return false
}

// abbreviates says whether an option is the beginning of a name, as PowerShell has it.
func abbreviates(option, name string) bool { return strings.HasPrefix(name, option) }
