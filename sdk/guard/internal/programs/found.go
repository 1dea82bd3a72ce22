package programs

import "strings"

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
	"clone":    {"*/post-checkout"},
	"worktree": {"*/post-checkout"},
	"add":      {"*/post-index-change"},
	"reset":    {"*/post-index-change", "*/reference-transaction"},
	"branch":   {"*/reference-transaction"},
	"tag":      {"*/reference-transaction"},
	"revert":   {"*/prepare-commit-msg", "*/commit-msg", "*/post-commit"},
	"gc":       {"*/pre-auto-gc"},

	"cherry-pick": {"*/prepare-commit-msg", "*/commit-msg", "*/post-commit"},
}

// lifecycle are the scripts that verbs of npm run besides those of their own name.
var lifecycle = map[string][]string{
	"install": {"preinstall", "install", "postinstall", "prepare"}, "i": {"preinstall", "install", "postinstall", "prepare"}, "ci": {"preinstall", "install", "postinstall", "prepare"},
	"publish": {"prepublishOnly", "prepack", "prepare", "publish"}, "pack": {"prepack", "prepare", "postpack"}, "t": {"pretest", "test", "posttest"}, "": {"preinstall", "install", "postinstall", "prepare"},
}

// finders are the programs that find such files.
var finders = set("cmake bash sh zsh ksh dash pip uv make gmake bmake git npm pnpm yarn bun pytest py.test rake bb direnv go gcc g++ cc c++ clang clang++ tcc cargo rustc java javac python node perl ruby")

// readers are modules of Python that only read the files that they are told of.
var readers = set("py_compile compileall json.tool venv tabnanny ast tokenize zipfile tarfile base64 http.server black ruff flake8 isort mypy pylint pip")

// described are the descriptions of what CMake builds, seen from where it is built.
var described = []string{"CMakeLists.txt", "../CMakeLists.txt", "../../CMakeLists.txt"}

// Found are the files that a program runs as code without being given their names, of those that there are. A star at the beginning
// of a name stands for anything.
func Found(name string, args []string, there func(file string) bool) []Use {
	if starts, ok := startsWith[name]; ok {
		return personal(starts, there)
	}
	if _, ok := runners[name]; !ok && !finders[name] {
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
		if parsed := gitSpec.Parse(args); len(parsed.Operands) > 0 {
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
	if r, ok := runners[name]; ok {
		if name == "run-parts" && len(operands) > 0 {
			return []Use{{Kind: Script, Lang: "sh", Text: operands[len(operands)-1] + "/*"}}
		}
		if name == "ninja" {
			return append(append(toldOf(r.lang, args, operands), files("cmake-build", operands, described...)...), files(r.lang, operands, strings.Fields(r.files)...)...)
		}
		return append(toldOf(r.lang, args, operands), files(r.lang, operands, strings.Fields(r.files)...)...)
	}
	switch name {
	case "make", "gmake", "bmake":
		built := files("cmake-build", operands, described...)
		if !parsed.Has("-f", "--file", "--makefile") {
			return append(built, files("make", operands, makefiles...)...)
		}
		return built
	case "bash", "sh", "zsh", "ksh", "dash":
		return startFiles(name, args)
	case "pip", "uv":
		return setups(operands, parsed, files)
	case "cmake":
		if parsed.Has("--build") {
			target, _ := parsed.Value("-t", "--target")
			return files("cmake-build", []string{target}, "CMakeLists.txt")
		}
		return configures(operands, parsed, files)
	case "npm", "pnpm", "yarn", "bun":
		dir, _ = parsed.Value("-C", "--prefix", "--cwd", "--dir")
		return append(files("npmrc", nil, ".npmrc"), files("npm", npmScripts(verb, operands), "package.json")...)
	case "cargo":
		return append(files("cargo", nil, ".cargo/config.toml", ".cargo/config"), files("rust", nil, "*.rs")...)
	case "rustc":
		return files("rust", nil, named(operands, ".rs")...)
	case "python":
		if len(args) > 1 && args[0] == "-m" && readers[args[1]] {
			return nil
		}
		return files("python", nil, "*.py") // it may import them
	case "node":
		if len(args) > 1 && (args[0] == "--check" || args[0] == "-c") {
			return nil // it is only read
		}
		return files("node", nil, "*.js", "*.mjs", "*.cjs")
	case "perl":
		return files("perl", nil, "*.pm", "*.pl")
	case "ruby":
		return files("ruby", nil, "*.rb")
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
