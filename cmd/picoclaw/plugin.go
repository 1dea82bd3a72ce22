package main

import "github.com/spf13/cobra"

func newPlugin(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:     "plugin",
		Short:   "Write plugins",
		Example: "  picoclaw plugin new wordcount",
	}, newPluginNew(a))
}
