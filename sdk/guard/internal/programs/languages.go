package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// language is a program that runs code: from an option, a file or its standard input.
type language struct {
	as   string // the canonical name of the program
	lang string
	spec getopt.Spec
}

// languages finds interpreters by their name.
var languages = interpreters()

func interpreters() map[string]*language {
	m := map[string]*language{}
	add := func(names, as, lang, code, opts string) {
		spec := stop(getopt.Parse(opts))
		for _, option := range strings.Fields(code) {
			spec.Values[option] = "c"
		}
		for _, name := range strings.Fields(names) {
			m[name] = &language{as: as, lang: lang, spec: spec}
		}
	}
	add("sh bash dash zsh ksh mksh ash rbash fish yash csh tcsh pwsh-sh", "", "sh", "", "")
	add("python pypy pypy3 ipython jython micropython", "python", "python", "-c", "W=d X=d m=m Q=d --check-hash-based-pycs=d")
	add("perl", "", "perl", "-e -E", "I=l M=d m=d F=d x= 0= i= l=")
	add("ruby jruby irb", "ruby", "ruby", "-e", "I=l r=d C=g E=d x= i= F=d")
	add("node nodejs ts-node tsx", "node", "node", "-e -p --eval --print", "r=k C=d --require=k --import=k --loader=k --env-file=r --inspect= --test-name-pattern=d --test-reporter=d --test-reporter-destination=w --conditions=d --title=d")
	add("lua luajit", "lua", "lua", "-e", "l=d")
	add("php", "", "php", "-r -B -R -E", "f=k d=d c=r F=k S=d t=g z=k")
	add("rscript r", "", "r", "-e", "")
	add("osascript", "", "applescript", "-e", "l=d s=d")
	add("julia octave groovy ghci scala elixir racket sbcl clisp raku swipl erl", "", "other", "-e -E --eval -eval", "")
	add("guile", "", "other", "-c -e", "l=k s=k L=l")
	add("tclsh wish expect", "", "tcl", "-c", "f=k b=k")
	add("awk gawk mawk nawk original-awk", "awk", "awk", "", "F=d v=d f=k i=k e=c E=k l=d --field-separator=d --assign=d --file=k --source=c --include=k --exec=k --load=d")
	add("cmd", "", "cmd", "", "")
	add("powershell pwsh", "powershell", "powershell", "", "")
	return m
}

// uses says what an interpreter runs.
func (l *language) uses(name string, args []shell.Field) []Use {
	switch l.lang {
	case "sh":
		return l.shell(args)
	case "cmd", "powershell":
		return windowsShell(l.lang, args)
	}
	parsed := l.spec.Parse(shell.Texts(args))
	var uses []Use
	coded := false
	for _, opt := range parsed.Options {
		switch {
		case !opt.Has:
		case opt.Roles == "c":
			uses = append(uses, Use{Kind: Code, Lang: l.lang, Text: opt.Value})
			coded = true
		case opt.Roles == "m":
			// The module's own arguments follow; pip is a program of its own.
			argv := append([]shell.Field{{Text: opt.Value}}, args[min(opt.At+1, len(args)):]...)
			return append(uses, Use{Kind: Command, Argv: argv})
		case opt.Roles == "k":
			uses = append(uses, Use{Kind: Script, Lang: l.lang, Text: opt.Value})
			coded = true
		case opt.Roles != "":
			uses = append(uses, Use{Kind: Kind(opt.Roles[0]), Text: opt.Value})
		default:
			uses = append(uses, Use{Kind: Shape, Text: opt.Value})
		}
	}
	at := parsed.Operands
	if !coded && l.lang == "awk" && len(at) > 0 {
		uses = append(uses, Use{Kind: Code, Lang: "awk", Text: args[at[0]].Text})
		at, coded = at[1:], true
	}
	switch {
	case coded:
	case len(at) == 0 || args[at[0]].Text == "-":
		if !parsed.Has("-V", "-v", "-h", "--version", "--help") && l.lang != "awk" {
			uses = append(uses, Use{Kind: Input, Lang: l.lang})
		}
	case l.lang == "node" && (args[at[0]].Text == "inspect" || args[at[0]].Text == "test"):
	default:
		uses = append(uses, Use{Kind: Script, Lang: l.lang, Text: args[at[0]].Text, Glob: args[at[0]].Glob})
		at = at[1:]
	}
	for _, i := range at {
		uses = append(uses, Use{Kind: Shape, Text: args[i].Text, Glob: args[i].Glob})
	}
	return uses
}

// shell takes a shell's arguments apart: -c may stand anywhere in a cluster, and code is the first operand.
func (l *language) shell(args []shell.Field) []Use {
	var uses []Use
	code, stdin := false, false
	i := 0
	for ; i < len(args); i++ {
		text := args[i].Text
		if text == "--" || text == "-" {
			i++
			break
		}
		if len(text) < 2 || text[0] != '-' && text[0] != '+' {
			break
		}
		if strings.HasPrefix(text, "--") {
			switch text {
			case "--rcfile", "--init-file":
				uses, i = next(uses, Script, args, i)
			case "--command":
				code = true
			case "--version", "--help":
				return uses
			}
			continue
		}
		code = code || strings.Contains(text, "c") && text[0] == '-'
		stdin = stdin || strings.Contains(text, "s")
		if strings.HasSuffix(text, "o") || strings.HasSuffix(text, "O") {
			i++
		}
	}
	rest := args[min(i, len(args)):]
	switch {
	case code && len(rest) > 0:
		params := shell.Texts(rest[1:])
		if len(params) == 0 {
			params = []string{"bash"}
		}
		uses = append(uses, Use{Kind: Code, Lang: "sh", Text: rest[0].Text, Params: params})
	case stdin || len(rest) == 0:
		uses = append(uses, Use{Kind: Input, Lang: "sh", Params: append([]string{"bash"}, shell.Texts(rest)...)})
		for _, arg := range rest {
			uses = append(uses, Use{Kind: Shape, Text: arg.Text, Glob: arg.Glob})
		}
	default:
		uses = append(uses, Use{Kind: Script, Lang: "sh", Text: rest[0].Text, Glob: rest[0].Glob, Params: shell.Texts(rest)})
		for _, arg := range rest[1:] {
			uses = append(uses, Use{Kind: Shape, Text: arg.Text, Glob: arg.Glob})
		}
	}
	return uses
}

// windowsShell takes the arguments of cmd and PowerShell apart.
func windowsShell(lang string, args []shell.Field) []Use {
	texts := shell.Texts(args)
	for i, text := range texts {
		lower := strings.ToLower(text)
		switch {
		case lang == "cmd" && (strings.HasPrefix(lower, "/c") || strings.HasPrefix(lower, "/k")):
			code := strings.TrimSpace(text[2:] + " " + strings.Join(texts[i+1:], " "))
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
