package programs

import (
	"path"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// makeCommandVars are variables of make whose values are run as commands.
var makeCommandVars = wordSet("SHELL CC CXX MAKE AR")

// makeInstallVars are variables of make that set installation directories.
var makeInstallVars = wordSet(`prefix exec_prefix bindir sbindir libexecdir sysconfdir localstatedir libdir includedir
	datarootdir datadir infodir localedir mandir docdir PREFIX EXEC_PREFIX BINDIR SBINDIR LIBDIR INCLUDEDIR DATADIR
	MANDIR DOCDIR SYSCONFDIR INSTALL_PREFIX`)

// usesOfMake returns the uses of make's arguments. Values of some variables are code. Installation directories count only
// if the call installs into them.
func usesOfMake(c programCall) []ArgumentUse {
	uses := c.optionUses()
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
			uses = append(uses, shellCodeUse(value))
		case isVariable && strings.Contains(value, "$(shell "):
			uses = append(uses, ArgumentUse{Kind: Code, Lang: "make", Text: value})
		}
		if isVariable {
			uses = append(uses, ArgumentUse{Kind: Path, Text: value})
		} else {
			uses = append(uses, wholeArgumentUse(Path, c.args[i]))
		}
	}
	return resolveRelativePaths(uses)
}

// searchDirs are the system directories that every compiler searches by default.
var searchDirs = wordSet("/usr/include /usr/lib /usr/lib64 /usr/local/include /usr/local/lib /usr/share /opt/homebrew /lib")

// compilerUses returns the uses of a compiler's arguments, except system search directories. The value of -wrapper is a
// command.
func compilerUses(c programCall) []ArgumentUse {
	var uses []ArgumentUse
	for _, opt := range c.parsed.Options {
		switch {
		case opt.Name == "-wrapper" && opt.Has:
			uses = append(uses, ArgumentUse{Kind: Command, Argv: shell.PlainArguments(strings.Split(opt.Value, ",")...)})
		case !optionHasRole(opt, List) || !isInSearchDirs(opt.Value):
			uses = c.appendOptionUses(uses, opt)
		}
	}
	return c.appendOperandUses(uses, c.operandIndexes())
}

func isInSearchDirs(name string) bool {
	for name = path.Clean(name); len(name) > 1; name = path.Dir(name) {
		if searchDirs[name] {
			return true
		}
	}
	return false
}
