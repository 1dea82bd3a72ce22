package programs

import (
	"path"
	"strings"
)

// makeCommandVars are variables of make whose values make runs as commands.
var makeCommandVars = wordSet("SHELL CC CXX MAKE AR")

// makeInstallVars are variables of make that set installation directories.
var makeInstallVars = wordSet(`prefix exec_prefix bindir sbindir libexecdir sysconfdir localstatedir libdir includedir
	datarootdir datadir infodir localedir mandir docdir PREFIX EXEC_PREFIX BINDIR SBINDIR LIBDIR INCLUDEDIR DATADIR
	MANDIR DOCDIR SYSCONFDIR INSTALL_PREFIX`)

// makeUses returns the uses of make's arguments. Values of some variables are code; installation directories don't
// count unless the call installs into them.
func makeUses(c call) []Use {
	var uses []Use
	for _, opt := range c.parsed.Options {
		uses = c.appendOption(uses, opt)
	}
	installs, isStaged := false, false
	for _, i := range c.operandIndexes() {
		installs = installs || strings.Contains(c.args[i].Text, "install") && !strings.Contains(c.args[i].Text, "=")
		isStaged = isStaged || strings.HasPrefix(c.args[i].Text, "DESTDIR=") && len(c.args[i].Text) > len("DESTDIR=")
	}
	for _, i := range c.operandIndexes() {
		variable, value, isVariable := strings.Cut(c.args[i].Text, "=")
		variable = strings.TrimRight(variable, ":+?!")
		switch {
		case isVariable && makeInstallVars[variable] && (isStaged || !installs):
			continue
		case isVariable && makeCommandVars[variable]:
			uses = append(uses, shellCode(value))
		case isVariable && strings.Contains(value, "$(shell "):
			uses = append(uses, Use{Kind: Code, Lang: "make", Text: value})
		}
		if isVariable {
			uses = append(uses, Use{Kind: Path, Text: value})
		} else {
			uses = append(uses, fieldUse(Path, c.args[i]))
		}
	}
	return resolveDirs(uses)
}

// searchDirs are the system directories that every compiler searches by default.
var searchDirs = wordSet("/usr/include /usr/lib /usr/lib64 /usr/local/include /usr/local/lib /usr/share /opt/homebrew /lib")

// compilerUses returns the uses of a compiler's arguments, without search directories of the system. The value of
// -wrapper is a command.
func compilerUses(c call) []Use {
	var uses []Use
	for _, opt := range c.parsed.Options {
		switch {
		case opt.Name == "-wrapper" && opt.Has:
			uses = append(uses, Use{Kind: Command, Argv: wordFields(strings.Split(opt.Value, ",")...)})
		case !hasRole(opt, List) || !inSearchDirs(opt.Value):
			uses = c.appendOption(uses, opt)
		}
	}
	return c.appendOperands(uses, c.operandIndexes())
}

// inSearchDirs reports whether a path is in one of searchDirs.
func inSearchDirs(name string) bool {
	for name = path.Clean(name); len(name) > 1; name = path.Dir(name) {
		if searchDirs[name] {
			return true
		}
	}
	return false
}
