// Command filesystem is the plugin with the file tools: reading, writing, listing and editing files in an agent's
// workspace.
//
// All its file access goes through the SDK's workspace, as in any plugin. It must not know of hosts, agents or
// sandboxes. Each tool has its own file, named after it. Two tool sets share one implementation: read_file, write_file,
// list_dir, edit_file and append_file for picoclaw's set, and read, write, ls and edit for the module's set. Tools that
// both sets need are in both.
package main

import "github.com/picoclaw/picoclaw/sdk"

// version is set when a release is built.
var version = "0.1.0"

func main() { sdk.Main(newPlugin()) }

// The tool sets in which the plugin's tools are.
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
		Stop: m.closeState,
	}
}
