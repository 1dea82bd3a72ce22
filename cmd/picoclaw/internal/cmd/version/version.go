// Package version has the command version.
package version

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func NewCmdVersion(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	return cli.NewCommonCommand(f, &cobra.Command{Use: "version", Short: "Print the version"}, printVersion, runF, cli.WithOutput)
}

func printVersion(o *cli.CommonOptions) error {
	if o.Output == cli.JSON {
		return o.PrintJSON(map[string]any{"version": o.Version, "plugin_protocol": pluginpb.ProtocolVersion,
			"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
	}
	_, err := fmt.Fprintln(o.Out, "picoclaw", o.VersionText())
	return err
}
