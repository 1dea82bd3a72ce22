// Command picoclaw-hub is the NATS server and the registry of a fleet. `picoclaw hub` executes it with the same arguments.
//
// It is a program of its own so that picoclaw is not linked with a NATS server.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/hubcmd"
)

// version is set when the program is built.
var version = "0.1.0-dev"

func main() {
	f := &cli.Factory{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Version: version}
	os.Exit(cli.RunRootCommand(os.Args[1:], f, func(f *cli.Factory) *cobra.Command {
		root := cli.ConfigureRoot(f, &cobra.Command{Short: "Connect the machines of a fleet"})
		root.AddCommand(hubcmd.NewCmdHub(f, hubHandlers()))
		return root
	}))
}
