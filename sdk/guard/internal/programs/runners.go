package programs

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
)

// finder is what a program finds by itself: files, separated by spaces, in a language.
type finder struct{ lang, files string }

// runners are the programs that always find the same files.
var runners = func() map[string]finder {
	m := map[string]finder{}
	for names, r := range map[string]finder{
		"just":         {"just", "justfile Justfile .justfile"},
		"task go-task": {"task", "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml"},
		"ninja":        {"ninja", "build.ninja"},
		"tox":          {"tox", "tox.ini"},
		"foreman honcho overmind hivemind goreman": {"procfile", "Procfile Procfile.dev"},
		"rake":                             {"ruby", "Rakefile rakefile Rakefile.rb"},
		"bb":                               {"lisp", "bb.edn"},
		"direnv":                           {"sh", ".envrc"},
		"pre-commit prek":                  {"hooks", ".pre-commit-config.yaml .pre-commit-config.yml"},
		"run-parts":                        {"", ""},
		"nox invoke inv fab":               {"tasks", "noxfile.py tasks.py fabfile.py"},
		"pytest py.test scons locust doit": {"python", "*.py SConstruct"},
		"jest vitest mocha ava jasmine karma cypress playwright webpack vite rollup gulp grunt": {"node", "*.js *.mjs *.cjs *.ts *.mts"},
		"eslint stylelint":         {"node", "*.config.js *.config.mjs *.config.cjs *.config.ts *rc.js *rc.cjs"},
		"rspec minitest cap guard": {"ruby", "*.rb Guardfile Capfile"},
	} {
		for _, name := range strings.Fields(names) {
			m[name] = r
		}
	}
	return m
}()

// startsWith are the programs that begin with the commands in files in the home directory, or where they are started.
var startsWith = map[string]finder{
	"sqlite": {"sqlite", ".sqliterc"}, "sqlite3": {"sqlite", ".sqliterc"}, "psql": {"sql", ".psqlrc"}, "tmux": {"tmux", ".tmux.conf .config/tmux/tmux.conf"},
	"gdb": {"gdb", ".gdbinit .config/gdb/gdbinit"}, "lldb": {"gdb", ".lldbinit"}, "vim": {"vim", ".vimrc .exrc .vim/vimrc"}, "vi": {"vim", ".vimrc .exrc"}, "nvim": {"vim", ".exrc .config/nvim/init.vim"},
	"ex": {"vim", ".exrc .vimrc"}, "wget": {"wget", ".wgetrc"}, "curl": {"curl", ".curlrc"}, "irb": {"ruby", ".irbrc"}, "pdb": {"pdb", ".pdbrc"},
}

// personal are such files, of those that there are.
func personal(f finder, there func(file string) bool) (uses []Use) {
	for _, file := range strings.Fields(f.files) {
		uses = append(uses, Use{Kind: Script, Lang: f.lang, Text: file, Home: true})
		if there(file) {
			uses = append(uses, Use{Kind: Script, Lang: f.lang, Text: file})
		}
	}
	return uses
}

// byOption are the options by which such a program is told of another file.
var byOption = set("-f --file --justfile -t --taskfile -c --config --rakefile --makefile")

// toldOf are the files that a runner is told of instead of those that it finds.
func toldOf(lang string, args, params []string) (uses []Use) {
	for i, arg := range args {
		option, file, has := strings.Cut(arg, "=")
		if !byOption[option] || !has && i+1 == len(args) {
			continue
		}
		if !has {
			file = args[i+1]
		}
		uses = append(uses, Use{Kind: Script, Lang: lang, Text: file, Params: params})
	}
	return uses
}

// configures are the files that CMake reads where it configures a directory.
func configures(operands []string, parsed getopt.Args, files func(lang string, params []string, names ...string) []Use) []Use {
	if parsed.Has("-E", "-P", "--build", "--install") {
		return nil
	}
	dir, _ := parsed.Value("-S")
	if dir == "" && len(operands) > 0 {
		dir = operands[0]
	}
	return files("cmake", nil, in(dir, "CMakeLists.txt"))
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
			uses = append(uses, home(".bash_profile", ".bash_login", ".profile", ".zprofile", ".zlogin", ".bash_logout", ".zlogout")...)
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
			uses = append(uses, files("pyproject", nil, dir+"/pyproject.toml")...)
		}
	}
	return uses
}
