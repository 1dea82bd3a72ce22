package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const commandsIntro = `# Commands

Results go to standard output; logs, questions and progress to standard error. Exit codes: 0 success, 1 a tool or
command failed, 2 wrong command line, 3 picoclaw can't start (configuration, plugins, isolation). Only terminals get
colour, and not with ` + "`NO_COLOR`" + `. ` + "`picoclaw COMMAND --help`" + ` prints details and examples.

A failed call prints a line that begins with ` + "`[ERROR]`" + `. ` + "`|`" + ` begins details, ` + "`rule:`" + ` the rule that refused the call,
` + "`hint:`" + ` the remedy.

All commands have the first four flags. The sections name the commands with the other flags. Defaults are in
parentheses.
`

// minSharedUses is the minimum number of commands with the same flag for which the introduction documents it.
const minSharedUses = 3

// commonFlags are flags that the introduction documents: name, end of the usage text, and the line in the introduction.
var commonFlags = []struct{ name, usage, text string }{
	{"agent", "(default: the first one)", "- `--agent id`: id of the agent (default: the first one)\n"},
	{"output", "text or json", "- `--output json`: print JSON instead of text\n"},
}

// commandsPage returns the documentation page about all commands.
func commandsPage(root *cobra.Command) string {
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
	b.WriteString(generatedNotice + commandsIntro + "\n")
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			b.WriteString(formatFlag(f))
		}
	})
	for _, c := range commonFlags {
		b.WriteString(c.text)
	}
	shared := sharedFlags(all)
	for _, f := range shared {
		b.WriteString(formatFlag(f))
	}
	for _, cmd := range all {
		writeCommand(&b, cmd, shared)
	}
	return b.String()
}

// sharedFlags returns the flags that at least [minSharedUses] commands have with the same usage, by first use.
func sharedFlags(commands []*cobra.Command) []*pflag.Flag {
	uses := make(map[string]int) // by name and usage
	var shared []*pflag.Flag
	for _, cmd := range commands {
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || isCommonFlag(f) || hasSameParentFlag(cmd.Parent(), f) {
				return
			}
			uses[f.Name+f.Usage]++
			if uses[f.Name+f.Usage] == minSharedUses && !slices.ContainsFunc(shared, func(s *pflag.Flag) bool { return s.Name == f.Name }) {
				shared = append(shared, f)
			}
		})
	}
	return shared
}

// writeCommand writes the section of a command: synopsis, purpose and flags.
func writeCommand(b *strings.Builder, cmd *cobra.Command, shared []*pflag.Flag) {
	use := strings.NewReplacer(" [flags]", "", " [--output json]", "").Replace(cmd.UseLine())
	fmt.Fprintf(b, "\n## %s\n\n%s\n", use, wrapText(cmd.Short+".", ""))
	writeFlags(b, cmd, shared)
}

// isCommonFlag reports whether a flag is one of [commonFlags].
func isCommonFlag(f *pflag.Flag) bool {
	for _, c := range commonFlags {
		if f.Name == c.name && strings.HasSuffix(f.Usage, c.usage) {
			return true
		}
	}
	return false
}

// hasSameParentFlag reports whether the parent command has the same flag, so that the parent's section documents it.
func hasSameParentFlag(parent *cobra.Command, f *pflag.Flag) bool {
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
		case isCommonFlag(f) || isSharedFlag(f, shared):
			above = append(above, formatCode("--"+f.Name))
		case hasSameParentFlag(cmd.Parent(), f):
			same = append(same, formatCode("--"+f.Name))
		default:
			own.WriteString(formatFlag(f))
		}
	})
	if own.Len() > 0 {
		b.WriteString("\n" + own.String())
	}
	if len(same) > 0 {
		above = append(above, "flags of "+formatCode(cmd.Parent().CommandPath()))
	}
	if len(above) > 0 {
		b.WriteString("\n" + wrapText(strings.Join(above, ", "), "") + "\n")
	}
}

func isSharedFlag(f *pflag.Flag, shared []*pflag.Flag) bool {
	return slices.ContainsFunc(shared, func(s *pflag.Flag) bool { return f.Name == s.Name && f.Usage == s.Usage })
}

// formatFlag returns the list item about a flag.
func formatFlag(f *pflag.Flag) string {
	kind, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	standard := ""
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
		standard = formatCode(f.DefValue)
	}
	return formatListItem(formatCode(strings.TrimSpace(name+" "+kind)), standard, usage)
}
