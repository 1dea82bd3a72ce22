package programs

import (
	"path"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// searched are the directories of the system that compilers look into, named or not.
var searched = []string{"/usr/include", "/usr/lib", "/usr/lib64", "/usr/local/include", "/usr/local/lib", "/usr/share", "/opt/homebrew", "/lib"}

// installed says whether a path is in one of those directories.
func installed(name string) bool {
	name = path.Clean(name)
	for _, dir := range searched {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// bins are the directories that the programs of the system are in.
var bins = set("/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin")

// compiles says whether a name is that of a compiler that looks into them.
func compiles(name string) bool {
	switch name {
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "tcc":
		return true
	}
	return false
}

// compiler takes the arguments of a compiler without the system's directories that it is to look into.
func compiler(m *Memory, name string, args []shell.Field, texts []string) []Use {
	own := false
	for i, arg := range args {
		dir, ok := strings.CutPrefix(arg.Text, "-I")
		if !ok {
			dir, ok = strings.CutPrefix(arg.Text, "-L")
		}
		if !ok && i > 0 && looksInto(args[i-1].Text) {
			dir, ok = arg.Text, true
		}
		if !ok || !installed(dir) {
			continue
		}
		if !own {
			args, texts, own = slices.Clone(args), slices.Clone(texts), true
		}
		args[i].Text = strings.TrimSuffix(arg.Text, dir) + "."
		texts[i] = args[i].Text
	}
	uses := table()[name].into(m, args, texts)
	if slices.Contains(texts, "-") {
		uses = append(uses, Use{Kind: Input, Lang: "c"})
	}
	return uses
}

// looksInto says whether an option of a compiler's is followed by a directory that it is to look into.
func looksInto(option string) bool {
	return option == "-isystem" || option == "-I" || option == "-L" || option == "-idirafter"
}

// plainCompiler is compiler for those who need its memory once.
func plainCompiler(name string, args []shell.Field) []Use {
	return compiler(new(Memory), name, args, shell.Texts(args))
}

// asked are the arguments of command: with -v or -V it only tells what the names are of.
func asked(name string, args []shell.Field) []Use {
	for _, arg := range args {
		letters, ok := strings.CutPrefix(arg.Text, "-")
		if !ok || letters == "" || strings.Trim(letters, "pvV") != "" {
			break
		}
		if strings.ContainsAny(letters, "vV") {
			return nil
		}
	}
	return table()[name].uses(args, shell.Texts(args))
}

// located are names of programs, of which only is told where they are.
func located(_ string, args []shell.Field) []Use {
	var uses []Use
	for _, arg := range args {
		if !bins[path.Dir(path.Clean(arg.Text))] {
			uses = append(uses, Use{Kind: Shape, Text: arg.Text, Glob: arg.Glob})
		}
	}
	return uses
}

// tested are the operands of test: texts that are compared, and files of which the kind is told. Whether a program is installed,
// and whether it runs in a container, is no secret.
func tested(uses []Use, args []shell.Field) []Use {
	for i, arg := range args {
		compared := i > 0 && comparing(args[i-1].Text) || i+1 < len(args) && comparing(args[i+1].Text)
		if compared || strings.HasPrefix(arg.Text, "/") && told(path.Clean(arg.Text)) {
			continue
		}
		uses = append(uses, Use{Kind: Shape, Text: arg.Text, Glob: arg.Glob})
	}
	return uses
}

// told says whether everybody may know that a file is there.
func told(name string) bool {
	return bins[path.Dir(name)] || name == "/.dockerenv" || name == "/run/.containerenv"
}

// comparing says whether a word is an operator of test between texts, or an option that looks at one.
func comparing(word string) bool {
	switch word {
	case "=", "==", "!=", "<", ">", "-z", "-n":
		return true
	}
	return false
}
