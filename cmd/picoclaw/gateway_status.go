package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/gateway"
)

// gatewayStatusOptions are the options of `picoclaw gateway status`.
type gatewayStatusOptions struct {
	*app

	output outputFormat
}

func newGatewayStatus(a *app, runF func(*gatewayStatusOptions) error) *cobra.Command {
	o := &gatewayStatusOptions{app: a}

	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show whether the gateway runs, and whether it is ready",
		Long:    "Shows where the gateway serves, what is not in order, and which configurations are in use: after a reload an earlier one\nis, until what has begun with it has ended. The exit code is 1 where no gateway runs, or it is not ready.",
		Example: "  picoclaw gateway status\n  picoclaw gateway status --output json",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	a.outputFlag(cmd, &o.output)
	return newCommand(cmd, o, runF)
}

func (o *gatewayStatusOptions) run(ctx context.Context) error {
	home, err := o.home()
	if err != nil {
		return err
	}
	status, err := gateway.Dial(home).Status(ctx)
	if err != nil {
		return failed(err)
	}
	if o.output == jsonOutput {
		err = o.printJSON(status)
	} else {
		o.showStatus(status)
	}
	if err == nil && !status.Ready {
		err = &failure{code: exitFailed, err: errSaid}
	}
	return err
}

func (a *app) showStatus(s *gateway.Status) {
	out := terminal.New(a.stdout)
	state := out.Paint(terminal.Good, "ready")
	if !s.Ready {
		state = out.Paint(terminal.Bad, "not ready")
	}
	fmt.Fprintf(out, "gateway   %s, process %d, version %s, since %s\n", state, s.PID, terminal.Line(s.Version),
		s.Started.Local().Format(time.DateTime))
	fmt.Fprintf(out, "serves    %s\n", terminal.Line(s.Address))
	for _, c := range s.Checks {
		text := "ok"
		if c.Error != "" {
			text = terminal.Line(c.Error)
		}
		fmt.Fprintf(out, "%-9s %s\n", terminal.Line(c.Name), text)
	}
	for i, c := range s.Configurations {
		which := "earlier"
		if i == len(s.Configurations)-1 {
			which = "current"
		}
		fmt.Fprintf(out, "%-9s configuration since %s: %d running, %d MCP sessions\n", which,
			c.Since.Local().Format(time.DateTime), c.Running, c.Sessions)
	}
	if s.Reload != "" {
		fmt.Fprintf(out, "reload    the last one has changed nothing: %s\n", terminal.Line(s.Reload))
	}
}

// gatewayReloadOptions are the options of `picoclaw gateway reload`.
type gatewayReloadOptions struct{ *app }

func newGatewayReload(a *app, runF func(*gatewayReloadOptions) error) *cobra.Command {
	o := &gatewayReloadOptions{app: a}
	return newCommand(&cobra.Command{
		Use:   "reload",
		Short: "Have the gateway read its configuration again",
		Long: strings.Trim(`
The configuration is checked first, and one that is wrong changes nothing. Sessions and turns that have begun keep their
policy until they end; where the gateway serves takes a restart.`, "\n"),
		Example: "  picoclaw gateway reload",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}, o, runF)
}

func (o *gatewayReloadOptions) run(ctx context.Context) error {
	home, err := o.home()
	if err != nil {
		return err
	}
	if err := gateway.Dial(home).Reload(ctx); err != nil {
		return failed(err)
	}
	fmt.Fprintln(o.stdout, "The gateway has read its configuration again.")
	return nil
}

// home returns the instance root.
func (a *app) home() (string, error) {
	home, err := config.FindHome(os.Environ())
	if err == nil && home.Fallback {
		err = errors.New("there is no instance root; set PICOCLAW_HOME to a directory")
	}
	if err != nil {
		return "", cantStart(err)
	}
	return home.Path, nil
}
