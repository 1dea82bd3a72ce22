// Command grep is the plugin that searches: the contents of files by grep, their names by find.
//
// Searching contents goes in two steps. An engine says which files have matches, and how many: ripgrep where the
// machine has it, else grep, else the plugin itself. Then the plugin reads the first of these files itself, through the
// workspace, for lines, columns and context. So the answer is the same whatever the engine, no file's name or contents
// can pass for a program's output, and memory depends on what is shown and not on what is found.
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
	launcher, err := isolation.Configure(isolation.Config{}, hclog.NewNullLogger())
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
