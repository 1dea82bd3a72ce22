package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const commandsIntro = `# Commands

Results go to standard output; logs, questions and progress to standard error. Exit codes: 0 success, 1 a tool or
command failed, 2 wrong command line, 3 picoclaw can't start (configuration, plugins, isolation). Output has colour on
terminals only, and never with ` + "`NO_COLOR`" + `. ` + "`picoclaw COMMAND --help`" + ` prints details and
examples.

A failed call prints a line that begins with ` + "`[ERROR]`" + `; ` + "`|`" + ` begins details, ` + "`rule:`" + ` the rule that refused the call,
` + "`hint:`" + ` the remedy.

All commands have the first four flags. Several have the others, and name them. Defaults are in
parentheses.
`

// minUses is the number of commands with a flag from which the introduction documents it.
const minUses = 3

// common lists flags that the introduction documents: the end of their usage, and the text for all commands.
var common = []struct{ name, usage, text string }{
	{"agent", "(default: the first one)", "- `--agent id`: id of the agent (default: the first one)\n"},
	{"output", "text or json", "- `--output json`: print JSON instead of text\n"},
}

// Commands returns the page about the commands below a root.
func Commands(root *cobra.Command) string {
	var all []*cobra.Command
	var collect func(cmd *cobra.Command)
	collect = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "help" {
			return
		}
		if cmd != root {
			all = append(all, cmd)
		}
		for _, sub := range cmd.Commands() {
			collect(sub)
		}
	}
	collect(root)

	var b strings.Builder
	b.WriteString(notice + commandsIntro + "\n")
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			b.WriteString(flagEntry(f))
		}
	})
	for _, c := range common {
		b.WriteString(c.text)
	}
	shared := sharedFlags(all)
	for _, f := range shared {
		b.WriteString(flagEntry(f))
	}
	for _, cmd := range all {
		writeCommand(&b, cmd, shared)
	}
	return b.String()
}

// sharedFlags returns flags that at least [minUses] commands have with the same usage, one of each name, in the order of
// their first use.
func sharedFlags(commands []*cobra.Command) []*pflag.Flag {
	uses := make(map[string]int) // by name and usage
	var shared []*pflag.Flag
	for _, cmd := range commands {
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || isCommon(f) || isDocumentedBy(cmd.Parent(), f) {
				return
			}
			uses[f.Name+f.Usage]++
			if uses[f.Name+f.Usage] == minUses && !contains(shared, f.Name) {
				shared = append(shared, f)
			}
		})
	}
	return shared
}

func contains(flags []*pflag.Flag, name string) bool {
	for _, f := range flags {
		if f.Name == name {
			return true
		}
	}
	return false
}

// writeCommand writes a command's section: its synopsis, its purpose, its flags.
func writeCommand(b *strings.Builder, cmd *cobra.Command, shared []*pflag.Flag) {
	use := strings.NewReplacer(" [flags]", "", " [--output json]", "").Replace(cmd.UseLine())
	fmt.Fprintf(b, "\n## %s\n\n%s\n", use, wrapped(cmd.Short+".", ""))
	writeFlags(b, cmd, shared)
}

// isCommon reports whether a flag is one of [common].
func isCommon(f *pflag.Flag) bool {
	for _, c := range common {
		if f.Name == c.name && strings.HasSuffix(f.Usage, c.usage) {
			return true
		}
	}
	return false
}

// isDocumentedBy reports whether the section of a command's parent documents a flag.
func isDocumentedBy(parent *cobra.Command, f *pflag.Flag) bool {
	if parent == nil {
		return false
	}
	first := parent.LocalNonPersistentFlags().Lookup(f.Name)
	return first != nil && first.Usage == f.Usage
}

// writeFlags writes a line for each flag of a command, and one line with the names of flags documented elsewhere.
func writeFlags(b *strings.Builder, cmd *cobra.Command, shared []*pflag.Flag) {
	var above, same []string
	var own strings.Builder
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden || f.Name == "help":
		case isCommon(f) || isShared(f, shared):
			above = append(above, code("--"+f.Name))
		case isDocumentedBy(cmd.Parent(), f):
			same = append(same, code("--"+f.Name))
		default:
			own.WriteString(flagEntry(f))
		}
	})
	if own.Len() > 0 {
		b.WriteString("\n" + own.String())
	}
	if len(same) > 0 {
		above = append(above, "flags of "+code(cmd.Parent().CommandPath()))
	}
	if len(above) > 0 {
		b.WriteString("\n" + wrapped(strings.Join(above, ", "), "") + "\n")
	}
}

func isShared(f *pflag.Flag, shared []*pflag.Flag) bool {
	for _, s := range shared {
		if f.Name == s.Name && f.Usage == s.Usage {
			return true
		}
	}
	return false
}

// flagEntry returns the line of a flag.
func flagEntry(f *pflag.Flag) string {
	kind, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	standard := ""
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
		standard = code(f.DefValue)
	}
	return entry(code(strings.TrimSpace(name+" "+kind)), standard, usage)
}
