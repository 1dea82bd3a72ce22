// Command grep is the plugin that searches the contents of files.
//
// It has ripgrep do the work where the machine has it, else grep, else it looks itself; the answer is the same. It
// must not know of hosts, agents or sandboxes.
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
	sdk.Main(newPlugin(installed(launcher)))
}

func newPlugin(e engine) sdk.Plugin {
	return sdk.Plugin{
		ID:      "grep",
		Version: version,
		Doc:     "Searches the contents of files in the workspace.",
		Grants:  sdk.Grants{Workspace: sdk.ReadOnlyWorkspace, Exec: true},
		Tools:   []sdk.Tool{grepTool(e)},
	}
}
