package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const commandsIntro = `# Commands

Results go to standard output; logs, questions and progress to standard error. Exit codes: 0 success, 1 a tool or
command failed, 2 wrong command line, 3 picoclaw can't start (configuration, plugins, isolation). Colour is used on
terminals only, and never with ` + "`NO_COLOR`" + `. Flags show their default in parentheses.

With ` + "`--output json`" + ` a command prints JSON instead of text. ` + "`--agent ID`" + ` selects an agent; the default is the first.
All commands have these flags:
`

// common lists flags that the introduction documents for all commands: the end of their usage, and their synopsis.
var common = []struct{ name, usage, typed string }{
	{"agent", "(default: the first one)", "[--agent ID]"},
	{"output", "text or json", "[--output json]"},
}

// Commands returns the page about the commands below a root.
func Commands(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(notice + commandsIntro)
	writeFlags(&b, root.PersistentFlags(), nil)
	var write func(cmd *cobra.Command)
	write = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "help" {
			return
		}
		if cmd != root {
			writeCommand(&b, cmd)
		}
		for _, sub := range cmd.Commands() {
			write(sub)
		}
	}
	write(root)
	return b.String()
}

func writeCommand(b *strings.Builder, cmd *cobra.Command) {
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprintf(b, "\n## %s\n\n", cmd.CommandPath())
	if cmd.Runnable() {
		b.WriteString(code(useOf(cmd)) + "\n\n")
	}
	b.WriteString(paragraphs(about) + "\n")
	if cmd.Example != "" {
		var lines []string
		for line := range strings.Lines(cmd.Example) {
			lines = append(lines, strings.TrimPrefix(strings.TrimRight(line, "\n"), "  "))
		}
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.Join(lines, "\n"))
	}
	writeFlags(b, cmd.NonInheritedFlags(), cmd.Parent())
}

// useOf returns the synopsis of a command.
func useOf(cmd *cobra.Command) string {
	use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	others := false
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if typed := commonFlag(f); typed != "" {
			use += " " + typed
		}
		others = others || isDocumented(f)
	})
	if others {
		use += " [flags]"
	}
	return use
}

// commonFlag returns the synopsis of a common flag, or "".
func commonFlag(f *pflag.Flag) string {
	for _, c := range common {
		if f.Name == c.name && strings.HasSuffix(f.Usage, c.usage) {
			return c.typed
		}
	}
	return ""
}

// isDocumented reports whether a command's own section documents a flag.
func isDocumented(f *pflag.Flag) bool { return !f.Hidden && f.Name != "help" && commonFlag(f) == "" }

// writeFlags writes a line for each flag, and one line for all flags that the parent documents.
func writeFlags(b *strings.Builder, flags *pflag.FlagSet, parent *cobra.Command) {
	var same []string
	var own strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if !isDocumented(f) {
			return
		}
		if parent != nil {
			if first := parent.LocalNonPersistentFlags().Lookup(f.Name); first != nil && first.Usage == f.Usage {
				same = append(same, code("--"+f.Name))
				return
			}
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		standard := ""
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
			standard = code(f.DefValue)
		}
		own.WriteString(entry(code(strings.TrimSpace(name+" "+kind)), standard, usage))
	})
	if own.Len() > 0 {
		b.WriteString("\n" + own.String())
	}
	if len(same) > 0 {
		b.WriteString("\n" + wrapped(strings.Join(same, ", ")+": as for "+code(parent.CommandPath())+".", "") + "\n")
	}
}
