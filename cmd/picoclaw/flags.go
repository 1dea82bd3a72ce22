package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/internal/nearest"
)

// agentFlag adds --agent.
func (a *app) agentFlag(cmd *cobra.Command, agent *string, doc string) {
	cmd.Flags().StringVar(agent, "agent", "", "`id` of "+doc)
	a.complete(cmd, "agent", a.agentNames)
}

// outputFormat is the value of --output.
type outputFormat string

const (
	textOutput outputFormat = "text"
	jsonOutput outputFormat = "json"
)

// Set sets the format; it refuses unknown ones.
func (o *outputFormat) Set(text string) error {
	if text != string(textOutput) && text != string(jsonOutput) {
		return errors.New("want text or json")
	}
	*o = outputFormat(text)
	return nil
}

// String returns the format.
func (o *outputFormat) String() string { return string(*o) }

// Type returns the type that help shows.
func (o *outputFormat) Type() string { return "string" }

// outputFlag adds --output.
func (a *app) outputFlag(cmd *cobra.Command, output *outputFormat) {
	*output = textOutput
	cmd.Flags().Var(output, "output", "text or json")
	a.complete(cmd, "output", fixed(string(textOutput), string(jsonOutput)))
}

// newCommand returns a command whose options are parsed into o. runF, if not nil, runs in place of the command: tests
// look at the options with it.
func newCommand[Options any](cmd *cobra.Command, o *Options, runF func(*Options) error) *cobra.Command {
	if runF != nil {
		cmd.RunE = func(*cobra.Command, []string) error { return runF(o) }
	}
	return cmd
}

// spoken is a command's name in an error, which begins with the program's already.
func spoken(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "picoclaw ") }

// noArguments is for a command that takes flags only.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return usage("%s takes no argument %q%s", spoken(cmd), args[0], nearest.Suggest(args[0], names))
}

// group makes a command of others, which does nothing by itself.
func group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	var names []string
	for _, sub := range subs {
		names = append(names, sub.Name())
	}
	cmd.AddCommand(subs...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("%s what? It has the commands %s", spoken(cmd), strings.Join(names, ", "))
		}
		return usage("%s has no command %q%s", spoken(cmd), args[0], nearest.Suggest(args[0], names))
	}
	return cmd
}
