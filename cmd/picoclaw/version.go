package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// versionOptions are the options of `picoclaw version`.
type versionOptions struct {
	*app

	output outputFormat
}

func newVersion(a *app, runF func(*versionOptions) error) *cobra.Command {
	o := &versionOptions{app: a}

	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  picoclaw version\n  picoclaw version --output json",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return o.run() },
	}
	a.outputFlag(cmd, &o.output)
	return newCommand(cmd, o, runF)
}

func (o *versionOptions) run() error {
	if o.output == jsonOutput {
		return o.printJSON(map[string]any{"version": o.version, "plugin_protocol": pluginpb.ProtocolVersion,
			"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
	}
	_, err := fmt.Fprintln(o.stdout, "picoclaw", o.versionText())
	return err
}

// versionText is the version and what goes with it.
func (a *app) versionText() string {
	return fmt.Sprintf("%s (plugin protocol %d, %s %s/%s)", a.version, pluginpb.ProtocolVersion, runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}
