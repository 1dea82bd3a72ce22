package run

import (
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/run/supervisor"
)

// SupervisorOptions are the options of the hidden command that `picoclaw run` executes inside the sandbox.
type SupervisorOptions struct {
	*cli.Factory
	program []string // stream with the terminal, program and arguments; empty for the supervisor itself
}

// NewCmdSupervisor returns the hidden command that supervises the program inside the sandbox, or starts it on its terminal.
func NewCmdSupervisor(f *cli.Factory, runF func(*SupervisorOptions) error) *cobra.Command {
	o := &SupervisorOptions{Factory: f}
	cmd := &cobra.Command{
		Use: supervisor.Command, Short: "Supervise a program inside the sandbox", Hidden: true,
		Args: func(_ *cobra.Command, args []string) error { o.program = args; return nil },
		RunE: func(*cobra.Command, []string) error {
			if len(o.program) == 0 {
				return cli.FailedError(supervisor.Main())
			}
			code, err := supervisor.RunInit(o.program[0], o.program[1:])
			if err != nil || code == 0 {
				return cli.FailedError(err)
			}
			return &cli.ExitError{Code: code, Err: cli.ErrReported}
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cli.OverrideRunFunc(cmd, o, runF)
}
