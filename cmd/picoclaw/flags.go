package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/internal/nearest"
)

// agentFlag adds --agent.
func (a *app) agentFlag(cmd *cobra.Command, agent *string, doc string) {
	cmd.Flags().StringVar(agent, "agent", "", "`id` of "+doc)
	a.complete(cmd, "agent", a.agentNames)
}

// outputFlag adds --output.
func (a *app) outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVar(output, "output", "text", "text or json")
	a.complete(cmd, "output", fixed("text", "json"))
}

// format checks the --output flag.
func format(output string) error {
	if output != "text" && output != "json" {
		return usage("--output %q: want text or json", output)
	}
	return nil
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
