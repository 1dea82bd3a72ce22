// Command shell is the plugin that runs commands for an agent.
//
// It must not decide what may be run: the guard has done that in the host, and the sandbox that this process and its
// commands live in holds when the guard was wrong. It starts every command through package isolation, which confines it
// by itself and ends the whole tree of its processes for certain.
//
// The whole of a long output goes to .picoclaw/output in the workspace. Every agent can read there whatever its policy,
// so nothing else has to be opened for it; number, size and age are bounded.
//
// A command that exits with another status than 0 is a tool error with the code exit_status. Its output is in the
// result all the same.
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
	launcher, err := isolation.Configure(isolation.Config{}, hclog.NewNullLogger())
	if err != nil {
		fmt.Fprintln(os.Stderr, "shell:", err)
		os.Exit(1)
	}
	sdk.Main(newPlugin(&shellPlugin{launcher: launcher, holdSelf: func(p isolation.Profile) error {
		return errors.Join(isolation.LimitSelf(p.Limits), launcher.FilterSelf(p))
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
