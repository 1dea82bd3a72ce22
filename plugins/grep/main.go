// Command grep is the plugin with the search tools grep (file contents) and find (names).
//
// A search of contents has three steps. The plugin lists the files to search. An engine finds those with matches and
// counts the matches: ripgrep, grep, or Go code in this plugin. Then the plugin reads the first of these files for
// lines, columns and context. So results do not depend on the engine, and file names can't imitate program output.
//
// It must not know of hosts, agents or sandboxes.
package main

import (
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
		fmt.Fprintln(os.Stderr, "grep:", err)
		os.Exit(1)
	}
	sdk.Main(newPlugin(installedEngines(launcher)))
}

func newPlugin(engines []searchEngine) sdk.Plugin {
	return sdk.Plugin{
		ID:      "grep",
		Version: version,
		Doc:     "Searches the contents and the names of files in the workspace.",
		Grants: sdk.Grants{
			Workspace: sdk.ReadOnlyWorkspace,
			Exec:      true,
			Programs:  []string{"rg", "grep"},
			Env:       []string{"HOME", "XDG_CONFIG_HOME"}, // where git's own list of ignored files is
		},
		Tools: []sdk.Tool{newGrepTool(engines), newFindTool()},
		Busy:  func() bool { return false }, // what it starts ends with the call
	}
}
