package main

import (
	"context"
	"fmt"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/gateway"
)

// consoleOptions are the options of `picoclaw console`.
type consoleOptions struct {
	*app

	operate bool
}

func newConsole(a *app, runF func(*consoleOptions) error) *cobra.Command {
	o := &consoleOptions{app: a}

	cmd := &cobra.Command{
		Use:        "console",
		SuggestFor: []string{"dashboard", "web", "ui"},
		Short:      "Print a link that opens the gateway's console in a browser",
		Long: `Prints a link to the web console of the gateway that runs, which gateway.console switches on. It works once, and for a
minute. What it opens shows calls, what waits for a yes, and the rest; with --operate it may also answer, and take changes
back.`,
		Example: "  picoclaw console\n  picoclaw console --operate",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&o.operate, "operate", false, "let who opens it act, too")
	return newCommand(cmd, o, runF)
}

func (o *consoleOptions) run(ctx context.Context) error {
	home, err := o.home()
	if err != nil {
		return err
	}
	link, err := gateway.Dial(home).ConsoleLink(ctx, o.operate, userName())
	if err != nil {
		return failed(err)
	}
	fmt.Fprintln(o.stdout, link)
	fmt.Fprintln(o.stderr, "It works once, within a minute.")
	return nil
}

// userName is who has this process run.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "somebody"
}
