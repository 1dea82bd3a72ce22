// Command filesystem is the plugin for files: reading, writing, listing and editing them inside an agent's workspace.
//
// It is a plugin like any third party's: all its I/O goes through the SDK's workspace, and it must not know of hosts,
// agents or sandboxes. Each tool has a file of its own, named after it.
package main

import "github.com/picoclaw/picoclaw/sdk"

// version is set when a release is built.
var version = "0.1.0"

func main() { sdk.Main(newPlugin()) }

func newPlugin() sdk.Plugin {
	return sdk.Plugin{
		ID:      "filesystem",
		Version: version,
		Doc:     "Reads, writes, lists and edits files in the workspace.",
		Grants:  sdk.Grants{Workspace: sdk.WorkspaceAccess},
		Tools:   []sdk.Tool{readFile(), writeFile(), listDir(), editFile(), appendFile()},
	}
}
