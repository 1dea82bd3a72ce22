package gateway

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/gateway"
)

func NewCmdStatus(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Show whether the gateway runs, and whether it is ready"}
	return cli.NewCommonContextCommand(f, cmd, runStatus, runF, cli.WithOutput)
}

func runStatus(o *cli.CommonOptions, ctx context.Context) error {
	home, err := o.FindHome()
	if err != nil {
		return err
	}
	status, err := gateway.NewClient(home).FetchStatus(ctx)
	if err != nil {
		return cli.FailedError(err)
	}
	if o.Output == cli.JSON {
		err = o.PrintJSON(status)
	} else {
		printStatus(o.Factory, status)
	}
	return cli.ReportedFailure(!status.Ready, err)
}

func printStatus(f *cli.Factory, s *gateway.Status) {
	out := terminal.NewWriter(f.Out)
	state := out.Paint(terminal.Good, "ready")
	if !s.Ready {
		state = out.Paint(terminal.Bad, "not ready")
	}
	fmt.Fprintf(out, "gateway   %s, process %d, version %s, since %s\n", state, s.PID, terminal.CleanLine(s.Version),
		s.Started.Local().Format(time.DateTime))
	fmt.Fprintf(out, "serves    %s\n", terminal.CleanLine(s.Address))
	for _, c := range s.Checks {
		text := "ok"
		if c.Error != "" {
			text = terminal.CleanLine(c.Error)
		}
		fmt.Fprintf(out, "%-9s %s\n", terminal.CleanLine(c.Name), text)
	}
	for i, c := range s.Configurations {
		which := "earlier"
		if i == len(s.Configurations)-1 {
			which = "current"
		}
		fmt.Fprintf(out, "%-9s configuration since %s: %d running, %d MCP sessions\n", which,
			c.Since.Local().Format(time.DateTime), c.Running, c.Sessions)
		for _, port := range c.Ports {
			fmt.Fprintf(out, "port      %s\n", terminal.CleanLine(port))
		}
	}
	if s.ReloadError != "" {
		fmt.Fprintf(out, "reload    the last reload failed and changed nothing: %s\n", terminal.CleanLine(s.ReloadError))
	}
}

func NewCmdReload(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "reload", Short: "Have the gateway read its configuration again"}
	return cli.NewCommonContextCommand(f, cmd, runReload, runF)
}

func runReload(o *cli.CommonOptions, ctx context.Context) error {
	home, err := o.FindHome()
	if err != nil {
		return err
	}
	if err := gateway.NewClient(home).ReloadConfig(ctx); err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintln(o.Out, "The gateway has read its configuration again.")
	return nil
}
