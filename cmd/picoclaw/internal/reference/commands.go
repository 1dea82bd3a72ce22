package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const commandsIntro = `# Commands

Results go to standard output, logs and what a person has to know to standard error. The exit code is 0 for success, 1 if a tool
or what was asked for failed, 2 if the command line is wrong, 3 if picoclaw can't start: configuration, plugins,
isolation. There is colour on terminals only, and none with ` + "`NO_COLOR`" + `.
`

// Commands returns the page about the commands below a root.
func Commands(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(notice + commandsIntro)
	b.WriteString("\nThese flags go with every command:\n\n")
	writeFlags(&b, root.PersistentFlags())
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
	fmt.Fprintf(b, "\n## %s\n\n%s\n", cmd.CommandPath(), about)
	if cmd.Runnable() {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", cmd.UseLine())
	}
	if cmd.Example != "" {
		var lines []string
		for line := range strings.Lines(cmd.Example) {
			lines = append(lines, strings.TrimPrefix(strings.TrimRight(line, "\n"), "  "))
		}
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.Join(lines, "\n"))
	}
	if flags := cmd.NonInheritedFlags(); flags.HasAvailableFlags() {
		b.WriteString("\n")
		writeFlags(b, flags)
	}
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	b.WriteString("| flag | default | |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		standard := ""
		if f.DefValue != "" && f.DefValue != "false" {
			standard = code(f.DefValue)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", code(strings.TrimSpace(name+" "+kind)), standard, cell(usage))
	})
}
