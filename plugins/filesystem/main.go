// Command filesystem is the plugin for files: reading, writing, listing and editing them inside an agent's workspace.
//
// It is a plugin like any third party's: all its I/O goes through the SDK's workspace, and it must not know of hosts,
// agents or sandboxes. Each tool has a file of its own, named after it. There are two vocabularies over one
// implementation: read_file, write_file, list_dir, edit_file and append_file for people's words, and read, write, ls,
// edit for the module's; the tools that both need are in both.
package main

import "github.com/picoclaw/picoclaw/sdk"

// version is set when a release is built.
var version = "0.1.0"

func main() { sdk.Main(newPlugin()) }

// The vocabularies.
const (
	picoclawSet = "picoclaw"
	moduleSet   = "module"
)

func newPlugin() sdk.Plugin {
	m := &pluginState{}
	return sdk.Plugin{
		ID:      "filesystem",
		Version: version,
		Doc:     "Reads, writes, lists and edits files in the workspace.",
		Grants:  sdk.Grants{Workspace: sdk.WorkspaceAccess, State: true, Takeback: true},
		Tools: []sdk.Tool{
			newReadFileTool(m), newWriteFileTool(m), newListDirTool(), newEditFileTool(m), newAppendFileTool(m),
			newReadTool(m), newWriteTool(m), newEditTool(m), newInsertTool(m), newLsTool(),
			newMvTool(m), newCpTool(m), newRmTool(m), newMkdirTool(m), newFileStatTool(),
			newUndoTool(m), newHistoryTool(m),
		},
		Stop: m.saveState,
	}
}
