package programs

import "strings"

// makeCommands are variables of make whose values it starts.
var makeCommands = set("SHELL CC CXX MAKE AR")

// destinations are variables of make that say where to install.
var destinations = set(`prefix exec_prefix bindir sbindir libexecdir sysconfdir localstatedir libdir includedir datarootdir
	datadir infodir localedir mandir docdir PREFIX EXEC_PREFIX BINDIR SBINDIR LIBDIR INCLUDEDIR DATADIR MANDIR DOCDIR
	SYSCONFDIR INSTALL_PREFIX`)

// makes finds the variables that hold code, and leaves out those that are for an installation that doesn't happen here.
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
