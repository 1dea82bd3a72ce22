package programs

import (
	"path"
	"strings"
)

// makeCommands are variables of make whose values it starts.
var makeCommands = set("SHELL CC CXX MAKE AR")

// destinations are variables of make that say where to install.
var destinations = set(`prefix exec_prefix bindir sbindir libexecdir sysconfdir localstatedir libdir includedir
	datarootdir datadir infodir localedir mandir docdir PREFIX EXEC_PREFIX BINDIR SBINDIR LIBDIR INCLUDEDIR DATADIR
	MANDIR DOCDIR SYSCONFDIR INSTALL_PREFIX`)

// makes finds the variables that hold code, and leaves out those for an installation that doesn't happen here.
func makes(c call) []Use {
	var uses []Use
	for _, opt := range c.parsed.Options {
		uses = c.option(uses, opt)
	}
	installs, staged := false, false
	for _, i := range c.operands() {
		installs = installs || strings.Contains(c.args[i].Text, "install") && !strings.Contains(c.args[i].Text, "=")
		staged = staged || strings.HasPrefix(c.args[i].Text, "DESTDIR=") && len(c.args[i].Text) > len("DESTDIR=")
	}
	for _, i := range c.operands() {
		variable, value, ok := strings.Cut(c.args[i].Text, "=")
		variable = strings.TrimRight(variable, ":+?!")
		switch {
		case ok && destinations[variable] && (staged || !installs):
			continue
		case ok && makeCommands[variable]:
			uses = append(uses, sh(value))
		case ok && strings.Contains(value, "$(shell "):
			uses = append(uses, Use{Kind: Code, Lang: "make", Text: value})
		}
		if ok {
			uses = append(uses, Use{Kind: Path, Text: value})
		} else {
			uses = append(uses, field(Path, c.args[i]))
		}
	}
	return based(uses)
}

// searched are the directories of the system that compilers look into, named or not.
var searched = set("/usr/include /usr/lib /usr/lib64 /usr/local/include /usr/local/lib /usr/share /opt/homebrew /lib")

// compiler leaves out the system's directories that it is to look into. A wrapper is a command.
func compiler(c call) []Use {
	var uses []Use
	for _, opt := range c.parsed.Options {
		switch {
		case opt.Name == "-wrapper" && opt.Has:
			uses = append(uses, Use{Kind: Command, Argv: words(strings.Split(opt.Value, ",")...)})
		case !is(opt, List) || !installed(opt.Value):
			uses = c.option(uses, opt)
		}
	}
	return c.operandUses(uses, c.operands())
}

// installed reports whether a path is in one of the searched directories.
func installed(name string) bool {
	for name = path.Clean(name); len(name) > 1; name = path.Dir(name) {
		if searched[name] {
			return true
		}
	}
	return false
}
