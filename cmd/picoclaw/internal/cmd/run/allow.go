package run

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/run"
)

// AllowOptions are the options of `picoclaw run allow`.
type AllowOptions struct {
	*cli.Factory
	run, host string
}

func NewCmdAllow(f *cli.Factory, runF func(*AllowOptions) error) *cobra.Command {
	o := &AllowOptions{Factory: f}
	return cli.OverrideRunFunc(&cobra.Command{
		Use:   "allow RUN HOST",
		Short: "Allow a run another host until the run ends",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.UsageErrorf("want the ID of a run, and a host as in network.allow")
			}
			o.run, o.host = args[0], args[1]
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			home, err := o.FindHome()
			if err != nil {
				return err
			}
			if err := run.AllowHost(home, o.run, o.host); err != nil {
				return cli.FailedError(err)
			}
			fmt.Fprintf(o.Out, "run %s may reach %s\n", o.run, o.host)
			return nil
		},
	}, o, runF)
}
