package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/internal/suggest"
)

// AddAgentFlag adds --agent.
func (f *Factory) AddAgentFlag(cmd *cobra.Command, agent *string, doc string) {
	cmd.Flags().StringVar(agent, "agent", "", "`id` of "+doc)
	f.CompleteFlag(cmd, "agent", f.CompleteAgents)
}

// Format is the value of --output.
type Format string

const (
	Text Format = "text"
	JSON Format = "json"
)

// Set sets the format; it refuses unknown ones.
func (o *Format) Set(text string) error {
	if text != string(Text) && text != string(JSON) {
		return errors.New("want text or json")
	}
	*o = Format(text)
	return nil
}

// String returns the format.
func (o *Format) String() string { return string(*o) }

// Type returns the type that help shows.
func (o *Format) Type() string { return "string" }

// AddOutputFlag adds --output.
func (f *Factory) AddOutputFlag(cmd *cobra.Command, output *Format) {
	*output = Text
	cmd.Flags().Var(output, "output", "text or json")
	f.CompleteFlag(cmd, "output", CompleteWords(string(Text), string(JSON)))
}

// NewCommand returns a command that parses flags and, in its Args function, positional arguments into o. Tests pass runF,
// which then receives the complete options in place of the command's RunE.
func NewCommand[Options any](cmd *cobra.Command, o *Options, runF func(*Options) error) *cobra.Command {
	if runF != nil {
		cmd.RunE = func(*cobra.Command, []string) error { return runF(o) }
	}
	return cmd
}

// CommandName is a command's name in an error, which begins with the program's already.
func CommandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), "picoclaw ")
}

// NoArguments is for a command that takes flags only.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return Usagef("%s takes no argument %q%s", CommandName(cmd), args[0], suggest.DidYouMean(args[0], names))
}

// Group makes a command of others, which does nothing by itself.
func Group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	var names []string
	for _, sub := range subs {
		names = append(names, sub.Name())
	}
	cmd.AddCommand(subs...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return Usagef("%s what? It has the commands %s", CommandName(cmd), strings.Join(names, ", "))
		}
		return Usagef("%s has no command %q%s", CommandName(cmd), args[0], suggest.DidYouMean(args[0], names))
	}
	return cmd
}

// OneArgument returns an argument check that stores the only positional argument in value. usage is the error for any
// other number of arguments.
func OneArgument(value *string, usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usagef("%s", usage)
		}
		*value = args[0]
		return nil
	}
}

// OneName is OneArgument with the error "COMMAND takes NOUN".
func OneName(value *string, noun string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return OneArgument(value, CommandName(cmd)+" takes "+noun)(cmd, args)
	}
}

// Optional returns an argument check that also accepts no arguments.
func Optional(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return check(cmd, args)
	}
}
