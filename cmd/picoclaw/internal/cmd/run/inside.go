package run

import (
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/run/supervisor"
)

// supervisorName is the name of the hidden command that supervises the program inside the sandbox.
const supervisorName = "run-supervisor"

// SandboxCommandOptions are the options of the hidden commands that `picoclaw run` executes inside the sandbox.
type SandboxCommandOptions struct {
	*cli.Factory
	arguments []string
}

// NewCmdSupervisor returns the hidden command that supervises the program inside the sandbox.
func NewCmdSupervisor(f *cli.Factory, runF func(*SandboxCommandOptions) error) *cobra.Command {
	o := &SandboxCommandOptions{Factory: f}
	return cli.SetRun(&cobra.Command{
		Use: supervisorName, Short: "Supervise a program inside the sandbox", Hidden: true,
	}, o, func(*SandboxCommandOptions) error { return cli.FailedError(supervisor.Main()) }, runF)
}

// NewCmdTerminalInit returns the hidden command that starts the program on its terminal inside the sandbox.
func NewCmdTerminalInit(f *cli.Factory, runF func(*SandboxCommandOptions) error) *cobra.Command {
	o := &SandboxCommandOptions{Factory: f}
	cmd := &cobra.Command{
		Use: supervisor.InitCommand, Short: "Start a program on its terminal inside the sandbox", Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.UsageErrorf("want the number of a stream and a program")
			}
			o.arguments = args
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			code, err := supervisor.RunInit(o.arguments[0], o.arguments[1:])
			switch {
			case err != nil:
				return cli.FailedError(err)
			case code != 0:
				return &cli.ExitError{Code: code, Err: cli.ErrReported}
			}
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cli.OverrideRunFunc(cmd, o, runF)
}
