// Package sdk is what a plugin author imports to offer tools to picoclaw's agents: Go functions from a typed request
// to a typed result. A whole plugin is
//
//	type in struct {
//		Path string `json:"path" jsonschema:"file to count" claim:"read"`
//	}
//	type out struct {
//		Lines int `json:"lines"`
//	}
//
//	func count(ctx context.Context, req *sdk.Request[in]) (out, error) {
//		data, err := req.Workspace.ReadFile(req.Args.Path)
//		return out{Lines: bytes.Count(data, []byte("\n"))}, err
//	}
//
//	func main() {
//		sdk.Main(sdk.Plugin{
//			ID: "wordcount", Version: "1.0.0", Doc: "Counts things in files.",
//			Grants: sdk.Grants{Workspace: sdk.ReadOnlyWorkspace},
//			Tools:  []sdk.Tool{sdk.NewTool("count", "Count lines.", count, sdk.Traits{ReadOnly: true})},
//		})
//	}
//
// The claim tells the host that path names a file that is read, so that it can guard it. Package sdktest tests
// plugins; `picoclaw plugin new` writes one to begin with. A plugin must not trust its own checks with the safety of
// the machine: it does its I/O through the workspace, and the host starts it in a sandbox. Package sdk must not know
// how.
package sdk
