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
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "picoclaw %s (plugin protocol %d, %s %s/%s)\n",
				version, pluginpb.ProtocolVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
