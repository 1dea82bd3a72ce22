package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// Completer proposes words for a shell's completion. Whatever goes wrong proposes nothing: there is no place to say it.
type Completer func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective)

// CompleteFlag sets how the value of a flag is completed.
func (f *Factory) CompleteFlag(cmd *cobra.Command, flag string, by Completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // there is no such flag: a mistake in this program
	}
}

// CompleteWords proposes the same words always.
func CompleteWords(words ...string) Completer {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteFirst proposes words for the first argument.
func CompleteFirst(words func() []cobra.Completion) Completer {
	return func(_ *cobra.Command, args []string, _ string) (proposed []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			proposed = words()
		}
		return proposed, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteDirectories proposes the shell's directories.
func CompleteDirectories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// CompleteAgents proposes the agents of the configuration.
func (f *Factory) CompleteAgents(*cobra.Command, []string, string) (ids []cobra.Completion, _ cobra.ShellCompDirective) {
	if cfg, err := f.Config(""); err == nil {
		ids = cfg.AgentIDs()
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// FirstSentence returns the first sentence of a description, without its full stop.
func FirstSentence(doc string) string {
	first, _, _ := strings.Cut(doc, ". ")
	return strings.TrimSuffix(first, ".")
}
