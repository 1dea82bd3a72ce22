package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// version is set when a release is built.
var version = "0.1.0-dev"

func newVersion(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  picoclaw version\n  picoclaw version --output json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := format(output); err != nil {
				return err
			}
			if output == "json" {
				return a.printJSON(map[string]any{"version": version, "plugin_protocol": pluginpb.ProtocolVersion,
					"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			_, err := fmt.Fprintln(a.stdout, "picoclaw", versionText())
			return err
		},
	}
	a.outputFlag(cmd, &output)
	return cmd
}

// versionText is the version and what goes with it.
func versionText() string {
	return fmt.Sprintf("%s (plugin protocol %d, %s %s/%s)", version, pluginpb.ProtocolVersion, runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}
