package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
)

// setups are tools, and their verbs, that print code for the shell to evaluate. It sets variables and functions for working
// with the tool and does nothing else, so it counts as none.
var setups = map[string][]string{
	"direnv": {"hook", "export"}, "pyenv": {"init", "virtualenv-init"}, "rbenv": {"init"}, "nodenv": {"init"}, "goenv": {"init"}, "jenv": {"init"},
	"starship": {"init"}, "zoxide": {"init"}, "atuin": {"init"}, "fnm": {"env"}, "mise": {"activate", "env"}, "rtx": {"activate"}, "brew": {"shellenv"},
	"opam": {"env"}, "luarocks": {"path"}, "minikube": {"docker-env"}, "docker-machine": {"env"}, "ssh-agent": {"-s"}, "dircolors": {"-b"},
	"conda": {"shell.bash"}, "micromamba": {"shell"}, "kubectl": {"completion"}, "npm": {"completion"}, "pip": {"completion"}, "gh": {"completion"},
}

// output returns what a harmless command prints, if that follows from its arguments and input alone.
func output(c *Call) Stream {
	args := c.Texts()[1:]
	name := Name(c.Argv[0].Text)
	if name == c.Argv[0].Text && len(args) > 0 && slices.Contains(setups[name], args[0]) {
		return text("")
	}
	switch name {
	case "echo":
		printed := echo(args)
		if !c.in.escapes && !c.in.mayBeOther() || !strings.Contains(printed, `\`) {
			return known(printed)
		}
		if escaped := printf([]string{"%b\n", strings.Join(args, " ")}); escaped != printed {
			return Stream{Piped: true, Text: printed + escaped, From: From("echo with escapes")} // one or the other
		}
		return known(printed)
	case "printf":
		if len(args) > 0 {
			printed := printf(args)
			c.in.work += len(printed)
			return known(printed)
		}
	case "pwd":
		if c.Dir != "" && c.Doubt == "" {
			return text(c.Dir + "\n")
		}
	case ":", "true", "false", "mkdir", "touch", "test", "[", "export", "sleep", "wait":
		return text("")
	case "tee":
		return c.Stdin
	case "cat":
		if out, ok := concatenated(c, args); ok {
			return out
		}
	case "printenv":
		if value, ok := c.Env[strings.Join(args, " ")]; ok {
			return known(value + "\n")
		}
	case "basename":
		if operands := skipOptions(args); len(operands) > 0 && len(operands) == len(args) {
			base := path.Base(operands[0])
			if len(operands) > 1 {
				base = strings.TrimSuffix(base, operands[1])
			}
			return known(base + "\n")
		}
	case "dirname":
		if operands := skipOptions(args); len(operands) > 0 {
			return known(path.Dir(operands[0]) + "\n")
		}
	case "mktemp":
		return known(temporary(args))
	case "which":
		if operands := skipOptions(args); len(operands) == 1 {
			return known("/" + Program + "/" + path.Base(operands[0]) + "\n")
		}
	case "command":
		if len(args) == 2 && args[0] == "-v" {
			return known("/" + Program + "/" + path.Base(args[1]) + "\n")
		}
	case "seq", "gseq":
		if made := sequence(args); made != "" {
			return known(made)
		}
		fallthrough
	case "find", "gfind", "stat", "date":
		if made := formatted(args); made != "" {
			return Stream{Piped: true, Text: made, From: From(name)}
		}
	case "type":
		if len(args) == 2 && (args[0] == "-p" || args[0] == "-P") {
			return known("/" + Program + "/" + path.Base(args[1]) + "\n")
		}
	case "go":
		if len(args) == 2 && args[0] == "env" && (args[1] == "GOPATH" || args[1] == "GOROOT" || args[1] == "GOBIN") {
			return known("/" + Program + "/go\n")
		}
	case "uname":
		if len(args) == 1 && (args[0] == "-m" || args[0] == "-s" || args[0] == "-p") {
			return text(Item + "\n") // one word of letters and digits
		}
	case "arch", "nproc":
		return text(Item + "\n")
	case "git":
		if len(args) == 2 && args[0] == "rev-parse" && args[1] == "--show-toplevel" && c.Dir != "" {
			return text(c.Dir + "\n") // where commands usually start
		}
	case "docker", "podman", "nerdctl":
		if lists(args) {
			return text(Item + "\n")
		}
	case "npm", "pnpm", "yarn":
		if len(args) == 1 && args[0] == "bin" && c.Dir != "" {
			return text(c.Dir + "/node_modules/.bin\n")
		}
		if len(args) == 1 && args[0] == "root" && c.Dir != "" {
			return text(c.Dir + "/node_modules\n")
		}
	case "yes":
		line := strings.Join(args, " ")
		return known(strings.Repeat(line+"\n", 2))
	}
	out := Stream{Piped: true, From: c.in.origin(From(name), c.Stdin.From)}
	if filters[name] && (c.Stdin.Text != "" || c.state.files != nil) {
		if (name == "head" || name == "tail") && slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-c") || strings.HasPrefix(arg, "--b") }) {
			out.From = c.in.origin(From(name+" -c"), c.Stdin.From)
		}
		return c.filtered(out)
	}
	return out
}

// lists says whether a container tool is told to print the names of all that it has, or of all that runs.
func lists(args []string) bool {
	quiet, all := false, true
	for i, arg := range args {
		switch {
		case strings.HasPrefix(arg, "--quiet"), len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg, "q"):
			quiet = true
		case strings.HasPrefix(arg, "--filter"), strings.HasPrefix(arg, "-f"), strings.HasPrefix(arg, "-n"), strings.HasPrefix(arg, "-l"):
			all = false
		case i > 1 && !strings.HasPrefix(arg, "-"):
			all = false // of one repository
		}
	}
	return quiet && all && len(args) > 1 && slices.Contains([]string{"ps", "images", "container", "image", "volume", "network"}, args[0])
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
	if precise(format) {
		return Unknown
	}
	var own expand.Config // without one, the package shares a buffer between all that format at once
	for {
		part, used, err := expand.Format(&own, format, rest)
		if err != nil {
			return Unknown
		}
		out.WriteString(part)
		if rest = rest[min(used, len(rest)):]; used == 0 || len(rest) == 0 || out.Len() > MaxText {
			return lines(out.String())
		}
	}
}

// precise says whether a format has a conversion with a precision, which package expand doesn't heed.
func precise(format string) bool {
	for {
		_, rest, ok := strings.Cut(format, "%")
		if !ok {
			return false
		}
		if rest = strings.TrimLeft(rest, "-+ #0123456789*"); strings.HasPrefix(rest, ".") {
			return true
		}
		format = strings.TrimPrefix(rest, "%")
	}
}

// lines turns NUL bytes, which separate items for some readers, into newlines, which do for the others.
func lines(s string) string { return strings.ReplaceAll(s, "\x00", "\n") }

// temporary is what mktemp prints: the path of a new file in the directory for such files, or where it is told.
func temporary(args []string) string {
	dir, template := "/"+Temporary, "tmp.XXXXXXXXXX"
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(args[i], "=")
		switch {
		case args[i] == "-p" && i+1 < len(args):
			i++
			dir = args[i]
		case strings.HasPrefix(name, "--tmpdir"):
			if has {
				dir = value
			}
		case !strings.HasPrefix(name, "-") && (i == 0 || args[i-1] != "-t" && !strings.HasPrefix(args[i-1], "--tmpdir")):
			template = args[i]
			if dir == "/"+Temporary {
				return randomly(template) + "\n" // relative to the working directory
			}
		case !strings.HasPrefix(name, "-"):
			template = args[i]
		}
	}
	if dir != "/"+Temporary {
		template = randomly(template)
	}
	return dir + "/" + template + "\n"
}

// randomly marks the letters of a template in the place of which mktemp puts others, so that the name is nobody else's.
func randomly(template string) string {
	at := strings.LastIndex(template, "XXX")
	if at < 0 || strings.Contains(template[at:], "/") {
		return template
	}
	at = len(strings.TrimRight(template[:at], "X"))
	return template[:at] + Temporary + template[at:]
}
