package main

import (
	"bytes"
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveSDKArg makes this program the server that measureMCP has beside picoclaw: the official SDK as it is, with one
// tool that reads a file in the server's own process, unguarded and unrecorded, and answers with the bytes that
// picoclaw does.
const serveSDKArg = "serve-sdk"

type readInput struct {
	Path string `json:"path"`
}

func serveSDK() error {
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "read", Description: "Read a file."},
		func(_ context.Context, _ *mcp.CallToolRequest, in readInput) (*mcp.CallToolResult, any, error) {
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
		})
	return server.Run(context.Background(), &mcp.StdioTransport{})
}
