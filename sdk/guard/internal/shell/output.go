package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
)

// setups are tools, and their verbs, that print code for the shell to evaluate. It sets variables and functions for
// working with the tool and does nothing else, so it counts as none.
var setups = map[string][]string{
	"direnv": {"hook", "export"}, "pyenv": {"init", "virtualenv-init"}, "rbenv": {"init"}, "nodenv": {"init"},
	"goenv": {"init"}, "jenv": {"init"},
	"starship": {"init"}, "zoxide": {"init"}, "atuin": {"init"}, "fnm": {"env"}, "mise": {"activate", "env"},
	"rtx": {"activate"}, "brew": {"shellenv"},
	"opam": {"env"}, "luarocks": {"path"}, "minikube": {"docker-env"}, "docker-machine": {"env"}, "ssh-agent": {"-s"},
	"dircolors": {"-b"},
	"conda":     {"shell.bash"}, "micromamba": {"shell"}, "kubectl": {"completion"}, "npm": {"completion"},
	"pip": {"completion"}, "gh": {"completion"},
}

// output returns what a harmless command prints, if that follows from its arguments and input alone.
func output(c *Call) Stream {
	args := Texts(c.Argv[1:])
	name := Name(c.Argv[0].Text)
	if name == c.Argv[0].Text && len(args) > 0 && slices.Contains(setups[name], args[0]) {
		return text("")
	}
	unknown := Stream{Piped: true, From: append([]string{name}, c.Stdin.From...)}
	switch name {
	case "echo":
		return known(echo(args))
	case "printf":
		if len(args) > 0 {
			return known(printf(args))
		}
	case "pwd":
		if c.Dir != "" {
			return text(c.Dir + "\n")
		}
	case ":", "true", "false", "mkdir", "touch", "test", "[", "export", "sleep", "wait":
		return text("")
	case "cat", "tee":
		if name == "cat" && len(args) == 1 && args[0] != "-" {
			if written, ok := c.state.files[c.state.abs(args[0])]; ok {
				return written
			}
			return unknown
		}
		if name == "tee" || len(args) == 0 || args[0] == "-" {
			return c.Stdin
		}
	case "dirname":
		if operands := skipOptions(args); len(operands) > 0 {
			return known(path.Dir(operands[0]) + "\n")
		}
	case "mktemp":
		return known(temporary(args))
	case "which":
		if operands := skipOptions(args); len(operands) == 1 {
			return text("/usr/bin/" + path.Base(operands[0]) + "\n")
		}
	}
	return unknown
}

// echo is what bash's echo prints.
func echo(args []string) string {
	newline, escapes := "\n", false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, flag := range args[0][1:] {
			switch flag {
			case 'n':
				newline = ""
			case 'e':
				escapes = true
			case 'E':
				escapes = false
			}
		}
		args = args[1:]
	}
	line := strings.Join(args, " ")
	if escapes {
		line = printf([]string{"%b", line})
	}
	return line + newline
}

// printf is what bash's printf prints; Unknown if it isn't known.
func printf(args []string) string {
	if args[0] == "--" && len(args) > 1 {
		args = args[1:]
	}
	format, rest := args[0], args[1:]
	var out strings.Builder
	for {
		part, used, err := expand.Format(&expand.Config{}, format, rest)
		if err != nil {
			return Unknown
		}
		out.WriteString(part)
		if rest = rest[min(used, len(rest)):]; used == 0 || len(rest) == 0 || out.Len() > MaxText {
			return lines(out.String())
		}
	}
}

// lines turns NUL bytes, which separate items for some readers, into newlines, which do for the others.
func lines(s string) string { return strings.ReplaceAll(s, "\x00", "\n") }

// temporary is what mktemp prints: the path of a new file in the directory for such files, or where it is told. Its
// name holds the mark [Temporary].
func temporary(args []string) string {
	dir, name, local := "/"+Temporary, "tmp."+Temporary, false
	for i := 0; i < len(args); i++ {
		option, value, has := strings.Cut(args[i], "=")
		switch {
		case args[i] == "-p" && i+1 < len(args):
			i++
			dir, local = args[i], true
		case strings.HasPrefix(option, "--tmpdir") && has:
			dir, local = value, true
		case strings.HasPrefix(option, "--tmpdir"):
			local = true
		case strings.HasPrefix(args[i], "-p") && len(args[i]) > 2:
			dir, local = args[i][2:], true
		case args[i] == "-t":
			local = true
		case !strings.HasPrefix(option, "-"):
			if name = strings.TrimRight(args[i], "X") + Temporary; !local {
				dir = ""
			}
		}
	}
	if dir == "" {
		return name + "\n" // relative to the working directory
	}
	return dir + "/" + name + "\n"
}
