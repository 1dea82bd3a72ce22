// Package sdk is what a plugin author imports to offer tools to picoclaw's agents.
//
// A tool is a Go function from a typed request to a typed result. Its JSON Schema is inferred from the types; a
// `claim` tag on an input field tells the host that the field is a path or a command, so that the host can guard it:
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
//		if err != nil {
//			return out{}, err
//		}
//		return out{Lines: bytes.Count(data, []byte("\n"))}, nil
//	}
//
//	func main() {
//		sdk.Main(sdk.Plugin{
//			ID:      "wordcount",
//			Version: "1.0.0",
//			Doc:     "Counts things in files.",
//			Grants:  sdk.Grants{Workspace: sdk.ReadOnlyWorkspace},
//			Tools:   []sdk.Tool{sdk.NewTool("count_lines", "Count the lines of a file.", count, sdk.Traits{ReadOnly: true})},
//		})
//	}
//
// The binary serves a host that starts it, and is of use by itself: `wordcount describe` prints the manifest that goes
// beside it as plugin.json, and `wordcount call count_lines '{"path":"go.mod"}'` runs a tool in the current directory.
//
// [Plugin.Config] declares what the operator can configure, and [ConfigOf] hands it to a handler; an [Error] tells agents
// and programs what went wrong; package sdktest tests all of it. `picoclaw plugin new` writes a plugin to begin with.
//
// A plugin must not trust its own checks with the safety of the machine: it does its I/O through [Request.Workspace],
// and the host starts it in a sandbox that holds when it does not. Package sdk must not know how the host decides or
// how the sandbox is made.
package sdk
