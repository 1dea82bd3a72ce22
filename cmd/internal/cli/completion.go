package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// SetFlagCompletion registers the completion of a flag's value.
func (f *Factory) SetFlagCompletion(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // there is no such flag: a mistake in this program
	}
}

// NewWordCompleter returns a completer that always proposes the same words.
func NewWordCompleter(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// NewFirstArgumentCompleter returns a completer that proposes words for the first argument only.
func NewFirstArgumentCompleter(words func() []cobra.Completion) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) (proposed []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			proposed = words()
		}
		return proposed, cobra.ShellCompDirectiveNoFileComp
	}
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
