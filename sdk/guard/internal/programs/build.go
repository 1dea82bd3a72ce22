package programs

import (
	"path"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var npmSpec = getopt.Parse("C=g w=d c=c --global= --prefix=w --cwd=g --dir=g --workspace=d --filter=d --location=d --registry=d --tag=d --otp=d --loglevel=d --userconfig=r --globalconfig=r --cache=w --script-shell=c --call=c --omit=d --include=d --package=d --access=d")

// pnpmSpec differs: there, -c says that a command is for a shell.
var pnpmSpec = npmSpec.With("c=")

// npmPrograms are the settings of npm that name a program.
var npmPrograms = set("script-shell shell editor viewer git")

// makeVars finds the code that make is told to run: makefiles, and variables that hold code. The rest is as the table says.
func makeVars(name string, args []shell.Field) []Use {
	if staged(args) {
		args = undestined(args)
	}
	texts := shell.Texts(args)
	uses := table()[name].uses(args, texts)
	parsed := Options(name, texts)
	for _, opt := range parsed.Options {
		switch {
		case !opt.Has || opt.Name != "-f" && !opt.Is("--file") && !opt.Is("--makefile"):
			continue
		case opt.Value == "-":
			uses = append(uses, Use{Kind: Input, Lang: "make"})
		default:
			uses = append(uses, Use{Kind: Script, Lang: "make", Text: opt.Value})
		}
	}
	var words []string
	for _, i := range parsed.Operands {
		words = append(words, texts[i])
		variable, value, ok := strings.Cut(texts[i], "=")
		variable = strings.TrimRight(variable, ":+?!")
		if ok && (variable == "SHELL" || variable == "CC" || variable == "CXX" || variable == "MAKE" || variable == "AR") {
			uses = append(uses, Use{Kind: Code, Lang: "sh", Text: value})
		} else if ok && strings.Contains(value, "$(shell ") {
			uses = append(uses, Use{Kind: Code, Lang: "make", Text: "x=" + value + "\n$(x):"})
		}
	}
	for i := range uses {
		if uses[i].Lang == "make" {
			uses[i].Params = words
		}
	}
	return uses
}

// cmake is told by variables where to install later. That writes nothing; the installing does, which says so itself.
func cmake(name string, args []shell.Field) []Use {
	rest := make([]shell.Field, 0, len(args))
	for i, arg := range args {
		if arg.Text == "-E" && i+1 < len(args) {
			return cmakeTool(args[i+1].Text, args[i+2:])
		}
		_, value, _ := strings.Cut(arg.Text, "=")
		if !strings.HasPrefix(arg.Text, "-DCMAKE_INSTALL_") && !bins[path.Dir(value)] {
			rest = append(rest, arg)
		}
	}
	return table()[name].uses(rest, shell.Texts(rest))
}

// cmakeTool is one of the tools that cmake -E has for all systems.
func cmakeTool(tool string, args []shell.Field) []Use {
	command := func(words ...string) []Use {
		argv := make([]shell.Field, 0, len(words)+len(args))
		for _, word := range words {
			argv = append(argv, shell.Field{Text: word})
		}
		return []Use{{Kind: Command, Argv: append(argv, args...)}}
	}
	switch {
	case tool == "env":
		return command("env")
	case tool == "rm" || tool == "remove":
		return command("rm")
	case tool == "remove_directory":
		return command("rm", "-r")
	case tool == "time" && len(args) > 0:
		return command()
	case tool == "chdir" && len(args) > 1:
		return []Use{{Kind: Enter, Text: args[0].Text}, {Kind: Command, Argv: args[1:], Dir: args[0].Text}}
	}
	return unknown(args)
}

// in is a path that counts from a directory.
func in(dir, path string) string {
	if dir == "" || strings.HasPrefix(path, "/") {
		return path
	}
	return dir + "/" + path
}

// bazel and its like name what they build by labels, such as //dir:name and @repository//dir.
func bazel(name string, args []shell.Field) []Use {
	rest := make([]shell.Field, 0, len(args))
	var uses []Use
	for i, arg := range args {
		program, under := strings.CutPrefix(arg.Text, "--run_under")
		switch {
		case under && strings.HasPrefix(program, "=") && !strings.HasPrefix(program, "=//"):
			uses = append(uses, sh(program[1:]))
		case under && program == "" && i+1 < len(args) && !strings.HasPrefix(args[i+1].Text, "//"):
			uses = append(uses, sh(args[i+1].Text))
		}
		if label := strings.TrimPrefix(arg.Text, "-"); !strings.HasPrefix(label, "//") && !strings.HasPrefix(label, "@") {
			rest = append(rest, arg)
		}
	}
	return append(uses, table()[name].uses(rest, shell.Texts(rest))...)
}

// switches are switches of MSBuild that have no value.
var switches = set("/m /nologo /restore /r /bl /graph /detailedsummary /ds /noconlog /noautorsp /help /?")

// msbuild also takes switches of the form /name:value, beside those with a dash.
func msbuild(name string, args []shell.Field) []Use {
	var uses []Use
	rest := make([]shell.Field, 0, len(args))
	for _, arg := range args {
		option, value, has := strings.Cut(arg.Text, ":")
		switch {
		case switches[arg.Text]:
		case has && len(option) > 1 && option[0] == '/' && strings.Trim(option[1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "":
			uses = append(uses, Use{Kind: Shape, Text: value})
		default:
			rest = append(rest, arg)
		}
	}
	return append(uses, unknown(rest)...)
}

// npm may start a command behind exec, x or dlx.
func npm(name string, args []shell.Field) []Use {
	spec := npmSpec
	if name == "pnpm" {
		spec = pnpmSpec
	}
	parsed := spec.Parse(shell.Texts(args))
	var uses []Use
	for _, opt := range parsed.Options {
		switch {
		case opt.Has && opt.Roles != "":
			use := Use{Kind: Kind(opt.Roles[0]), Text: opt.Value}
			if use.Kind == Code {
				use.Lang = "sh"
			}
			uses = append(uses, use)
		case name == "bun" && (opt.Name == "-e" || opt.Name == "--eval" || opt.Name == "-p" || opt.Name == "--print") && opt.Arg+1 < len(args):
			uses = append(uses, Use{Kind: Code, Lang: "node", Text: args[opt.Arg+1].Text})
		case opt.Has && !dataOptions[opt.Name]:
			uses = append(uses, Use{Kind: Shape, Text: opt.Value})
		}
	}
	for n, i := range parsed.Operands {
		text := args[i].Text
		if n == 0 && (text == "exec" || text == "x" || text == "dlx") && len(parsed.Operands) > 1 {
			if command := args[parsed.Operands[1]]; strings.Contains(command.Text, " ") {
				return append(uses, sh(command.Text)) // Yarn hands it to a shell
			}
			return append(uses, Use{Kind: Command, Argv: args[parsed.Operands[1]:]})
		}
		if verb := args[parsed.Operands[0]].Text; n == 1 && text == "env" && (verb == "run" || verb == "run-script") && i+1 < len(args) {
			return append(uses, Use{Kind: Command, Argv: args[i:]}) // where the package has no script of that name
		}
		if n == 2 && args[parsed.Operands[0]].Text == "explore" {
			return append(uses, Use{Kind: Command, Argv: args[i:]})
		}
		if key, value, has := strings.Cut(text, "="); n > 0 && npmPrograms[key] && args[parsed.Operands[n-1]].Text == "set" {
			if !has && n+1 < len(parsed.Operands) {
				value = args[parsed.Operands[n+1]].Text
			}
			uses = append(uses, sh(value))
		}
		if n > 0 && i > 0 && args[i-1].Text == "--" {
			return append(uses, scriptGets(name, parsed, args, i)...)
		}
		if n > 0 && !Remote(text) {
			uses = append(uses, Use{Kind: Shape, Text: text, Glob: args[i].Glob})
		}
	}
	return uses
}

// scriptGets is what a script of a package gets from an argument on: npm starts it in the directory of the package.
func scriptGets(name string, parsed getopt.Args, args []shell.Field, from int) []Use {
	uses := unknown(args[from:])
	switch dir, _ := parsed.Value("-C", "--prefix"); args[parsed.Operands[0]].Text {
	case "run", "run-script", "test", "t", "start":
		for i := range uses {
			if name == "npm" {
				uses[i].Dir = dir
			}
		}
	}
	return uses
}

// deno runs files, and code behind the verb eval.
func deno(_ string, args []shell.Field) []Use {
	for i, arg := range args {
		if arg.Text == "-" && i > 0 {
			return []Use{{Kind: Input, Lang: "node"}}
		}
		if arg.Text == "eval" {
			var uses []Use
			for _, code := range args[i+1:] {
				if !strings.HasPrefix(code.Text, "-") {
					uses = append(uses, Use{Kind: Code, Lang: "node", Text: code.Text})
				}
			}
			return uses
		}
		if !strings.HasPrefix(arg.Text, "-") && arg.Text != "run" {
			break
		}
	}
	return unknown(args)
}

// corepack starts a package manager, or else manages which ones there are.
func corepack(_ string, args []shell.Field) []Use {
	if len(args) > 0 {
		switch name, _, _ := strings.Cut(args[0].Text, "@"); name {
		case "npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg":
			return []Use{{Kind: Command, Argv: args}}
		}
	}
	return unknown(args)
}
