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
		Short:      "Print a link to the gateway's web console",
	}
	cmd.Flags().BoolVar(&o.operate, "operate", false, "allow actions, not only viewing")
	return cli.SetRunContext(cmd, o, (*Options).printLink, runF)
}

func (o *Options) printLink(ctx context.Context) error {
	home, err := o.FindHome()
	if err != nil {
		return err
	}
	link, err := gateway.NewClient(home).RequestConsoleLink(ctx, o.operate, cli.UserName())
	if err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintln(o.Out, link)
	fmt.Fprintln(o.Err, "It works once, within a minute.")
	return nil
}
