package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
)

// setupCommands are tools, and their verbs, that print shell code for eval. The code only sets variables and functions
// for the tool, so its output counts as empty.
var setupCommands = map[string][]string{
	"direnv": {"hook", "export"}, "pyenv": {"init", "virtualenv-init"}, "rbenv": {"init"}, "nodenv": {"init"},
	"goenv": {"init"}, "jenv": {"init"},
	"starship": {"init"}, "zoxide": {"init"}, "atuin": {"init"}, "fnm": {"env"}, "mise": {"activate", "env"},
	"rtx": {"activate"}, "brew": {"shellenv"},
	"opam": {"env"}, "luarocks": {"path"}, "minikube": {"docker-env"}, "docker-machine": {"env"}, "ssh-agent": {"-s"},
	"dircolors": {"-b"},
	"conda":     {"shell.bash"}, "micromamba": {"shell"}, "kubectl": {"completion"}, "npm": {"completion"},
	"pip": {"completion"}, "gh": {"completion"},
}

// predictOutput returns the output of a harmless command if arguments and input determine it. Otherwise it returns an
// unknown stream.
func predictOutput(c *SimpleCommand) StreamContent {
	args := ArgumentTexts(c.Argv[1:])
	name := ProgramName(c.Argv[0].Text)
	if name == c.Argv[0].Text && len(args) > 0 && slices.Contains(setupCommands[name], args[0]) {
		return knownStream("")
	}
	unknown := StreamContent{Piped: true, From: append([]string{name}, c.Stdin.From...)}
	switch name {
	case "echo":
		return TextStream(echoOutput(args))
	case "printf":
		if len(args) > 0 {
			return TextStream(printfOutput(args))
		}
	case "pwd":
		if c.Dir != "" {
			return knownStream(c.Dir + "\n")
		}
	case ":", "true", "false", "mkdir", "touch", "test", "[", "export", "sleep", "wait":
		return knownStream("")
	case "cat", "tee":
		if name == "cat" && len(args) == 1 && args[0] != "-" {
			if written, ok := c.state.files[c.state.absPath(args[0])]; ok {
				return written
			}
			return unknown
		}
		if name == "tee" || len(args) == 0 || args[0] == "-" {
			return c.Stdin
		}
	case "dirname":
		if operands := argsAfterOptions(args); len(operands) > 0 {
			return TextStream(path.Dir(operands[0]) + "\n")
		}
	case "mktemp":
		return TextStream(mktempOutput(args))
	case "which":
		if operands := argsAfterOptions(args); len(operands) == 1 {
			return knownStream("/usr/bin/" + path.Base(operands[0]) + "\n")
		}
	}
	return unknown
}

func echoOutput(args []string) string {
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
		line = printfOutput([]string{"%b", line})
	}
	return line + newline
}

// printfOutput returns the output of bash's printf, or Unknown.
func printfOutput(args []string) string {
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
			return strings.ReplaceAll(out.String(), "\x00", "\n") // both separate list items
		}
	}
}

// mktempOutput returns the output of mktemp: the path of a new file, in which [Temporary] marks the random part.
func mktempOutput(args []string) string {
	dir, name, inTempDir := "/"+Temporary, "tmp."+Temporary, false
	for i := 0; i < len(args); i++ {
		option, value, hasValue := strings.Cut(args[i], "=")
		switch {
		case args[i] == "-p" && i+1 < len(args):
			i++
			dir, inTempDir = args[i], true
		case strings.HasPrefix(option, "--tmpdir") && hasValue:
			dir, inTempDir = value, true
		case strings.HasPrefix(option, "--tmpdir"):
			inTempDir = true
		case strings.HasPrefix(args[i], "-p") && len(args[i]) > 2:
			dir, inTempDir = args[i][2:], true
		case args[i] == "-t":
			inTempDir = true
		case !strings.HasPrefix(option, "-"):
			if name = strings.TrimRight(args[i], "X") + Temporary; !inTempDir {
				dir = ""
			}
		}
	}
	if dir == "" {
		return name + "\n" // relative to the working directory
	}
	return dir + "/" + name + "\n"
}
