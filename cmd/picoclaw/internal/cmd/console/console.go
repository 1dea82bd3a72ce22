// Package console has the command console.
package console

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/gateway"
)

// Options are the options of `picoclaw console`.
type Options struct {
	*cli.Factory
	operate bool
}

func NewCmdConsole(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:        "console",
		SuggestFor: []string{"dashboard", "web", "ui"},
		Short:      "Print a link that opens the gateway's console in a browser",
		Long: `Prints a link to the web console of the gateway that runs, which gateway.console switches on. It works once, and for a
minute. What it opens shows calls, what waits for a yes, and the rest; with --operate it may also answer, and take changes
back.`,
		Example: "  picoclaw console\n  picoclaw console --operate",
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&o.operate, "operate", false, "let who opens it act, too")
	return cli.NewCommand(cmd, o, runF)
}

func (o *Options) run(ctx context.Context) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	link, err := gateway.Dial(home).ConsoleLink(ctx, o.operate, cli.UserName())
	if err != nil {
		return cli.Fail(err)
	}
	fmt.Fprintln(o.Out, link)
	fmt.Fprintln(o.Err, "It works once, within a minute.")
	return nil
}
