package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const commandsIntro = `# Commands

Results go to standard output, logs and what a person has to know to standard error. The exit code is 0 for success, 1
if a tool or what was asked for failed, 2 if the command line is wrong, 3 if picoclaw can't start: configuration,
plugins, isolation. There is colour on terminals only, and none with ` + "`NO_COLOR`" + `. Behind a flag stands its default.

Commands that show ` + "`[--output json]`" + ` print text for people, and JSON with it. Those that show ` + "`[--agent ID]`" + ` are about
the first agent, or the one that is named. These flags go with every command:
`

// common are the flags that are told of once, since all commands that have them mean the same by them: what their
// usage ends with, and how they are typed.
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

// useOf is how a command is typed.
func useOf(cmd *cobra.Command) string {
	use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	others := false
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if typed := commonFlag(f); typed != "" {
			use += " " + typed
		}
		others = others || told(f)
	})
	if others {
		use += " [flags]"
	}
	return use
}

// commonFlag is how a flag is typed that is told of once; "" for another.
func commonFlag(f *pflag.Flag) string {
	for _, c := range common {
		if f.Name == c.name && strings.HasSuffix(f.Usage, c.usage) {
			return c.typed
		}
	}
	return ""
}

// told reports whether a command's own section tells of a flag.
func told(f *pflag.Flag) bool { return !f.Hidden && f.Name != "help" && commonFlag(f) == "" }

// writeFlags writes a line for each flag, and one for all those that are the parent's as well.
func writeFlags(b *strings.Builder, flags *pflag.FlagSet, parent *cobra.Command) {
	var same []string
	var own strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if !told(f) {
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
