package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// Completer returns proposals for a shell's completion; none after an error, because a shell can't show errors.
type Completer func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective)

// SetFlagCompletion registers the completion of a flag's value.
func (f *Factory) SetFlagCompletion(cmd *cobra.Command, flag string, by Completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // there is no such flag: a mistake in this program
	}
}

// NewWordCompleter returns a completer that always proposes the same words.
func NewWordCompleter(words ...string) Completer {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// NewFirstArgumentCompleter returns a completer that proposes words for the first argument only.
func NewFirstArgumentCompleter(words func() []cobra.Completion) Completer {
	return func(_ *cobra.Command, args []string, _ string) (proposed []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			proposed = words()
		}
		return proposed, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteDirectories lets the shell propose directories.
func CompleteDirectories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// CompleteAgents proposes the ids of the configured agents.
func (f *Factory) CompleteAgents(*cobra.Command, []string, string) (ids []cobra.Completion, _ cobra.ShellCompDirective) {
	if cfg, err := f.LoadConfig(""); err == nil {
		ids = cfg.AgentIDs()
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// FirstSentence returns the first sentence of a description, without its full stop.
func FirstSentence(doc string) string {
	first, _, _ := strings.Cut(doc, ". ")
	return strings.TrimSuffix(first, ".")
}
