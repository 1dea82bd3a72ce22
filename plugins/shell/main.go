// Command shell is the plugin that runs commands for an agent.
//
// It must not decide which commands may run: the host's guard does, and the sandbox around this process and its
// commands limits the effects of wrong decisions. Package isolation starts each command, confines it, and ends all
// its processes.
//
// A long output is stored completely in .picoclaw/output in the workspace, which every agent may read. The number,
// size and age of these files are limited.
//
// A command with an exit status other than 0 is a tool error with the code exit_status and the output in the result.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk"
)

// version is set when a release is built.
var version = "0.1.0"

func main() {
	launcher, err := isolation.NewStarter(isolation.Config{}, hclog.NewNullLogger())
	if err != nil {
		fmt.Fprintln(os.Stderr, "shell:", err)
		os.Exit(1)
	}
	sdk.Main(newPlugin(&shellPlugin{launcher: launcher, holdSelf: func(p isolation.Profile) error {
		return errors.Join(isolation.LimitSelf(p.Limits), launcher.InstallChildFilter(p))
	}}))
}

// newPlugin returns the plugin with its tools.
func newPlugin(s *shellPlugin) sdk.Plugin {
	return sdk.Plugin{
		ID:      "shell",
		Version: version,
		Doc:     "Runs commands in the workspace.",
		Grants: sdk.Grants{Workspace: sdk.WorkspaceAccess, Exec: true, Network: true, Takeback: true,
			Secrets: []string{"*"}},
		Tools: []sdk.Tool{s.newExecTool(), s.newProcessTool()},
		Stop:  s.shutdown,
		Busy:  func() bool { return len(s.sessions.ListSessions()) > 0 }, // one that is over may still be asked for its output
	}
}
