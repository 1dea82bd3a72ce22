package main

import (
	"fmt"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/gateway"
)

func newConsole(a *app) *cobra.Command {
	var operate bool
	cmd := &cobra.Command{
		Use:        "console",
		SuggestFor: []string{"dashboard", "web", "ui"},
		Short:      "Print a link that opens the gateway's console in a browser",
		Long: `Prints a link to the web console of the gateway that runs, which gateway.console switches on. It works once, and for a
minute. What it opens shows calls, what waits for a yes, and the rest; with --operate it may also answer, and take changes
back.`,
		Example: "  picoclaw console\n  picoclaw console --operate",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			link, err := gateway.Dial(home).ConsoleLink(cmd.Context(), operate, userName())
			if err != nil {
				return failed(err)
			}
			fmt.Fprintln(a.stdout, link)
			fmt.Fprintln(a.stderr, "It works once, within a minute.")
			return nil
		},
	}
	cmd.Flags().BoolVar(&operate, "operate", false, "let who opens it act, too")
	return cmd
}

// userName is who has this process run.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "somebody"
}
