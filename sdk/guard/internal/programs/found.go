package programs

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
)

// makefiles are the files that make looks for.
var makefiles = []string{"GNUmakefile", "makefile", "Makefile"}

// hooks are the files that the verbs of git run, in whatever directory the settings name.
var hooks = map[string][]string{
	"commit":   {"*/pre-commit", "*/prepare-commit-msg", "*/commit-msg", "*/post-commit"},
	"checkout": {"*/post-checkout"},
	"switch":   {"*/post-checkout"},
	"merge":    {"*/pre-merge-commit", "*/post-merge"},
	"pull":     {"*/post-merge", "*/post-rewrite"},
	"rebase":   {"*/pre-rebase", "*/post-rewrite"},
	"push":     {"*/pre-push"},
	"am":       {"*/applypatch-msg", "*/pre-applypatch", "*/post-applypatch"},
}

// lifecycle are the scripts that verbs of npm run besides those of their own name.
var lifecycle = map[string][]string{
	"install": {"preinstall", "install", "postinstall", "prepare"}, "i": {"preinstall", "install", "postinstall", "prepare"}, "ci": {"preinstall", "install", "postinstall", "prepare"},
	"publish": {"prepublishOnly", "prepack", "prepare", "publish"}, "pack": {"prepack", "prepare", "postpack"}, "t": {"pretest", "test", "posttest"}, "": {"preinstall", "install", "postinstall", "prepare"},
}

// finders are the programs that find such files.
var finders = set("bash sh zsh ksh dash pip uv make gmake bmake git npm pnpm yarn bun pytest py.test rake bb direnv go gcc g++ cc c++ clang clang++ tcc java javac python node perl ruby")

// Found are the files that a program runs as code without being given their names, of those that there are. A star at the beginning
// of a name stands for anything.
func Found(name string, args []string, there func(file string) bool) []Use {
	if !finders[name] {
		return nil
	}
	dir := ""
	files := func(lang string, params []string, names ...string) (uses []Use) {
		for _, file := range names {
			if file = in(dir, file); file[0] == '*' || there(file) {
				uses = append(uses, Use{Kind: Script, Lang: lang, Text: file, Params: params})
			}
		}
		return uses
	}
	if name == "git" {
		parsed := gitSpec.Parse(args)
		if dir, _ = parsed.Value("-C"); len(parsed.Operands) > 0 {
			return files("sh", nil, hooks[args[parsed.Operands[0]]]...)
		}
		return nil
	}
	parsed := Options(name, args)
	var operands []string
	for _, i := range parsed.Operands {
		operands = append(operands, args[i])
	}
	verb := ""
	if len(operands) > 0 {
		verb = operands[0]
	}
	switch name {
	case "make", "gmake", "bmake":
		if dir, _ = parsed.Value("-C", "--directory"); !parsed.Has("-f", "--file", "--makefile") {
			return files("make", operands, makefiles...)
		}
	case "bash", "sh", "zsh", "ksh", "dash":
		return startFiles(name, args)
	case "pip", "uv":
		return setups(operands, parsed, files)
	case "npm", "pnpm", "yarn", "bun":
		dir, _ = parsed.Value("-C", "--prefix", "--cwd", "--dir")
		return files("npm", npmScripts(verb, operands), "package.json")
	case "pytest", "py.test":
		return files("python", nil, "*.py")
	case "python":
		return files("python", nil, "*.py") // it may import them
	case "node":
		return files("node", nil, "*.js", "*.mjs", "*.cjs")
	case "perl":
		return files("perl", nil, "*.pm", "*.pl")
	case "ruby":
		return files("ruby", nil, "*.rb")
	case "rake":
		return files("ruby", nil, "Rakefile", "rakefile", "Rakefile.rb")
	case "bb":
		return files("lisp", nil, "bb.edn")
	case "direnv":
		return files("sh", nil, ".envrc")
	case "go":
		if verb == "run" || verb == "test" || verb == "generate" {
			return files("go", nil, "*.go")
		}
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "tcc":
		return files("c", nil, named(operands, ".c", ".cc", ".cpp", ".cxx")...)
	case "java", "javac":
		return files("java", nil, named(operands, ".java")...)
	}
	return nil
}

// npmScripts are the scripts of a package that npm runs for a verb.
func npmScripts(verb string, operands []string) []string {
	if (verb == "run" || verb == "run-script" || verb == "rum" || verb == "urn") && len(operands) > 1 {
		verb = operands[1]
	} else if scripts, ok := lifecycle[verb]; ok {
		return scripts
	}
	return []string{"pre" + verb, verb, "post" + verb}
}

// named are the words that end in one of the endings.
func named(words []string, endings ...string) (out []string) {
	for _, word := range words {
		for _, ending := range endings {
			if strings.HasSuffix(strings.ToLower(word), ending) {
				out = append(out, word)
			}
		}
	}
	return out
}

// startFiles are the files in the home directory that a shell runs first, if it is interactive or a login shell.
func startFiles(name string, args []string) (uses []Use) {
	for _, arg := range args {
		letters, option := strings.CutPrefix(arg, "-")
		if !option || arg == "--" {
			break
		}
		long := strings.HasPrefix(letters, "-")
		if arg == "--login" || !long && strings.Contains(letters, "l") {
			uses = append(uses, home(".bash_profile", ".bash_login", ".profile", ".zprofile", ".zlogin")...)
		}
		if !long && strings.Contains(letters, "i") {
			uses = append(uses, home("."+name+"rc")...)
		}
	}
	return uses
}

// home are files in the home directory that the shell runs.
func home(names ...string) (uses []Use) {
	for _, name := range names {
		uses = append(uses, Use{Kind: Script, Lang: "sh", Text: name, Home: true})
	}
	return uses
}

// setups are the files that run where pip is to install what is in a directory.
func setups(operands []string, parsed getopt.Args, files func(lang string, params []string, names ...string) []Use) (uses []Use) {
	if !slices.Contains(operands, "install") && !slices.Contains(operands, "wheel") {
		return nil
	}
	editable, _ := parsed.Value("-e", "--editable")
	for _, dir := range append(operands, editable) {
		if dir, _, _ = strings.Cut(dir, "["); strings.HasPrefix(dir, ".") {
			uses = append(uses, files("python", nil, dir+"/setup.py")...)
		}
	}
	return uses
}
