package main

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveSDKArg makes this program the server that measureMCP has beside picoclaw: the official SDK as it is, with one tool
// that reads a file in the server's own process, unguarded and unrecorded. What picoclaw takes beyond it is its own.
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
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}}, nil, nil
		})
	return server.Run(context.Background(), &mcp.StdioTransport{})
}
