// Package version has the command version.
package version

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Options are the options of `picoclaw version`.
type Options struct {
	*cli.Factory
	output cli.OutputFormat
}

func NewCmdVersion(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
	}
	f.AddOutputFlag(cmd, &o.output)
	return cli.SetRun(cmd, o, (*Options).printVersion, runF)
}

func (o *Options) printVersion() error {
	if o.output == cli.JSON {
		return o.PrintJSON(map[string]any{"version": o.Version, "plugin_protocol": pluginpb.ProtocolVersion,
			"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
	}
	_, err := fmt.Fprintln(o.Out, "picoclaw", o.VersionText())
	return err
}
