// Command sdkserver is an MCP server made with the official SDK as it is: one tool, which reads a file in the server's
// own process without a guard or an audit log, and answers with the bytes that picoclaw answers with.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type input struct {
	Path string `json:"path"`
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "read", Description: "Read a file."}, read)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
	data, err := os.ReadFile(in.Path)
	if err != nil {
		return nil, nil, err
	}
	lines := bytes.Count(data, []byte("\n"))
	return &mcp.CallToolResult{
		Meta: mcp.Meta{"io.github.picoclaw/details": map[string]any{
			"path": in.Path, "etag": "0123456789abcdef", "size_bytes": len(data), "total_lines": lines,
			"start_line": 1, "end_line": lines, "encoding": "utf-8", "eol": "lf",
		}},
		Content: []mcp.Content{&mcp.TextContent{Text: string(data)}},
	}, nil, nil
}
