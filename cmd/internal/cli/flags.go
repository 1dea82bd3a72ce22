package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/internal/suggest"
)

// AddAgentFlag adds --agent.
func (f *Factory) AddAgentFlag(cmd *cobra.Command, agent *string, doc string) {
	cmd.Flags().Var((*agentID)(agent), "agent", "`id` of "+doc)
	f.SetFlagCompletion(cmd, "agent", f.CompleteAgents)
}

// agentID is the value of --agent. An empty one, as of an unset variable in a script, does not mean the default.
type agentID string

func (a *agentID) Set(text string) error {
	if text == "" {
		return errors.New("want the id of an agent")
	}
	*a = agentID(text)
	return nil
}

func (a *agentID) String() string { return string(*a) }

func (a *agentID) Type() string { return "string" }

// OutputFormat is the value of --output.
type OutputFormat string

const (
	Text OutputFormat = "text"
	JSON OutputFormat = "json"
)

// Set parses the flag's value.
func (o *OutputFormat) Set(text string) error {
	if text != string(Text) && text != string(JSON) {
		return errors.New("want text or json")
	}
	*o = OutputFormat(text)
	return nil
}

// String returns the format.
func (o *OutputFormat) String() string { return string(*o) }

// Type returns the name of the type in help texts.
func (o *OutputFormat) Type() string { return "string" }

// AddOutputFlag adds --output.
func (f *Factory) AddOutputFlag(cmd *cobra.Command, output *OutputFormat) {
	*output = Text
	cmd.Flags().Var(output, "output", "text or json")
	f.SetFlagCompletion(cmd, "output", NewWordCompleter(string(Text), string(JSON)))
}

// SubcommandPath returns a command's path without "picoclaw", with which error messages begin.
func SubcommandPath(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), "picoclaw ")
}

// NoArguments refuses positional arguments.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return UsageErrorf("%s takes no argument %q%s", SubcommandPath(cmd), args[0], suggest.DidYouMean(args[0], names))
}

// NewGroupCommand makes cmd a group of subcommands. Run without a subcommand, it returns a usage error.
func NewGroupCommand(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	var names []string
	for _, sub := range subs {
		names = append(names, sub.Name())
	}
	cmd.AddCommand(subs...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return UsageErrorf("%s needs a command: %s", SubcommandPath(cmd), strings.Join(names, ", "))
		}
		return UsageErrorf("%s has no command %q%s", SubcommandPath(cmd), args[0], suggest.DidYouMean(args[0], names))
	}
	return cmd
}

// OneArgument returns an argument check that stores the only argument in value. It fails with usage if there is not
// one.
func OneArgument(value *string, usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return UsageErrorf("%s", usage)
		}
		*value = args[0]
		return nil
	}
}

// OneArgumentWithNoun returns an argument check like OneArgument with the error "COMMAND takes NOUN".
func OneArgumentWithNoun(value *string, noun string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return OneArgument(value, SubcommandPath(cmd)+" takes "+noun)(cmd, args)
	}
}

// NoArgumentsOr returns an argument check that accepts no arguments, and otherwise calls check.
func NoArgumentsOr(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return check(cmd, args)
	}
}

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

// ParseDuration parses the duration in a flag, also in days.
func ParseDuration(flag, text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, UsageErrorf("%s %q: want a duration, such as 90s, 20m, 6h or 2d", flag, text)
	}
	return d, nil
}
