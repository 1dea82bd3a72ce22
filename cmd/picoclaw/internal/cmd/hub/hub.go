// Package hub has the command hub, which executes the program picoclaw-hub beside picoclaw.
package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/hubcmd"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// NewCmdHub returns the command hub. Its commands check their arguments here and run in picoclaw-hub.
func NewCmdHub(f *cli.Factory) *cobra.Command {
	cmd := hubcmd.NewCmdHub(f, hubcmd.Handlers{})
	for _, c := range append(cmd.Commands(), cmd) {
		c.RunE = func(*cobra.Command, []string) error {
			program, err := findHubProgram()
			if err != nil {
				return cli.StartError(err)
			}
			return replaceProcess(program, os.Args[1:])
		}
	}
	return cmd
}

// findHubProgram returns the path of picoclaw-hub in the directory of this program.
func findHubProgram() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("find picoclaw's own binary: %w", err)
	}
	program := filepath.Join(filepath.Dir(self), pluginpb.PluginProgramName("picoclaw-hub", runtime.GOOS))
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("the hub is a separate program: %w; install the whole package, or run `make build`", err)
	}
	return program, nil
}
