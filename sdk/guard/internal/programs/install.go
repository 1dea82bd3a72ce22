package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// destinations are the names of the directories that a build is told of to install into later.
var destinations = set("prefix exec-prefix exec_prefix bindir sbindir libexecdir sysconfdir sharedstatedir localstatedir runstatedir libdir includedir oldincludedir datarootdir datadir infodir localedir mandir docdir htmldir " +
	"PREFIX EXEC_PREFIX BINDIR SBINDIR LIBDIR INCLUDEDIR DATADIR MANDIR DOCDIR SYSCONFDIR INSTALL_PREFIX CMAKE_INSTALL_PREFIX")

// destination says whether an argument only says where something is to be installed later: --prefix=/usr, PREFIX=/usr.
func destination(arg string) bool {
	name, _, has := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
	return has && destinations[name]
}

// configure takes the arguments of a script that prepares a build. What it is told to install into isn't touched.
func configure(_ string, args []shell.Field) []Use { return unknown(undestined(args)) }

// meson is a build system that prepares, builds and installs.
func meson(name string, args []shell.Field) []Use {
	if len(args) > 0 && (args[0].Text == "setup" || args[0].Text == "configure") {
		args = undestined(args)
	}
	return table()[name].uses(args, shell.Texts(args))
}

// undestined are arguments without those that say where to install later.
func undestined(args []shell.Field) []shell.Field {
	rest := make([]shell.Field, 0, len(args))
	for i, arg := range args {
		split := i > 0 && strings.HasPrefix(args[i-1].Text, "--") && destinations[args[i-1].Text[2:]]
		if !destination(arg.Text) && !split {
			rest = append(rest, arg)
		}
	}
	return rest
}

// staged says whether make installs nothing, or into a directory that stands for the root of the system.
func staged(args []shell.Field) bool {
	installs, root := false, false
	for _, arg := range args {
		installs = installs || strings.Contains(arg.Text, "install") && !strings.HasPrefix(arg.Text, "-") && !strings.Contains(arg.Text, "=")
		root = root || strings.HasPrefix(arg.Text, "DESTDIR=") && len(arg.Text) > len("DESTDIR=")
	}
	return root || !installs
}
