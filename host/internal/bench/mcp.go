package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is an MCP server on standard input and output, and how it is asked for a file.
type server struct {
	name   string
	argv   []string
	env    []string
	stderr io.Writer // what it says besides
	tool   string
	took   [mcpSteps]sample
}

// The steps that are timed. A client waits at each for all of what it asked for: from the start, or from a request's
// line on the server's standard input, to the whole answer's line on its standard output.
const (
	stepInitialize = iota
	stepFirstRead
	stepPing
	stepSmall
	stepLarge
	mcpSteps
)

// measureMCP times what an agent's client waits for, with the reference server for files beside it where that is
// installed. The two take turns, so that both meet the same weather.
func measureMCP(bin string) error {
	return withHome(func(home string) error {
		workspace := filepath.Join(home, "workspace")
		if err := os.MkdirAll(workspace, 0o700); err != nil {
			return err
		}
		for name, lines := range map[string]int{"1k": 64, "1m": 64 << 10} {
			if err := os.WriteFile(filepath.Join(workspace, name), []byte(strings.Repeat("0123456789abcde\n", lines)),
				0o600); err != nil {
				return err
			}
		}
		servers := []*server{{
			name: "picoclaw, isolation on", tool: "read_file", argv: []string{filepath.Join(bin, "picoclaw"), "mcp"},
			stderr: os.Stderr,
			env:    []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PICOCLAW_ISOLATION_ENABLED=true"},
		}}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		servers = append(servers, &server{
			name: "the official Go SDK alone, reading in its own process, not confined", tool: "read",
			argv: []string{self, serveSDKArg},
		})
		reference, err := exec.LookPath("mcp-server-filesystem")
		if err == nil {
			servers = append(servers, &server{
				name: "the MCP reference server for files, on node, not confined", tool: "read_text_file",
				argv: []string{reference, workspace}, env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")},
			})
		}
		if err := errors.Join(measureColdMCP(servers, workspace), measureWarmMCP(servers, workspace)); err != nil {
			return err
		}
		fmt.Println("MCP on standard input and output")
		for _, s := range servers {
			fmt.Println("  " + s.name)
			for step, line := range []string{
				"start to initialize  %v   (median at most 15)", "start to first read  %v", "ping                 %v",
				"read of 1 KB         %v", "read of 1 MB         %v   (median at most 15)",
			} {
				if s != servers[0] {
					line, _, _ = strings.Cut(line, "   (")
					line += fmt.Sprintf("   %.1f times picoclaw's", float64(s.took[step].p50())/float64(servers[0].took[step].p50()))
				}
				fmt.Printf("    "+line+"\n", s.took[step])
			}
		}
		fmt.Printf("  a confined read of 1 KB takes %.2f times what the SDK alone takes (at most 1.8)\n",
			float64(servers[0].took[stepSmall].p50())/float64(servers[1].took[stepSmall].p50()))
		if len(servers) == 2 {
			fmt.Println("  for the MCP reference server for files beside it: npm install -g @modelcontextprotocol/server-filesystem")
		}
		return nil
	})
}

// measureColdMCP starts each server anew for its first answers.
func measureColdMCP(servers []*server, dir string) error {
	const rounds = 25
	for i := range rounds + 1 {
		for _, s := range servers {
			began := time.Now()
			err := withClient(s, func(c *client) error {
				initialized := time.Since(began)
				if err := c.read(s.tool, filepath.Join(dir, "1k"), 1<<10); err != nil {
					return err
				}
				if i > 0 { // the first round warms the page cache
					s.took[stepInitialize] = append(s.took[stepInitialize], initialized)
					s.took[stepFirstRead] = append(s.took[stepFirstRead], time.Since(began))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// measureWarmMCP asks servers that run. They take turns by tenths: at every call, each would find the caches full of
// the other's.
func measureWarmMCP(servers []*server, dir string, clients ...*client) error {
	if n := len(clients); n < len(servers) {
		return withClient(servers[n], func(c *client) error {
			return measureWarmMCP(servers, dir, append(clients, c)...)
		})
	}
	for _, step := range []struct {
		of, rounds int
		ask        func(s *server, c *client) error
	}{
		{stepPing, 2000, func(_ *server, c *client) error { return c.call("ping", `{}`, 0) }},
		{stepSmall, 2000, func(s *server, c *client) error { return c.read(s.tool, filepath.Join(dir, "1k"), 1<<10) }},
		{stepLarge, 100, func(s *server, c *client) error { return c.read(s.tool, filepath.Join(dir, "1m"), 1<<20) }},
	} {
		for i := range 11 { // of which the first warms up
			for n, s := range servers {
				for range step.rounds / 10 {
					if err := s.took[step.of].timed(func() error { return step.ask(s, clients[n]) }); err != nil {
						return err
					}
				}
				if i == 0 {
					s.took[step.of] = nil
				}
			}
		}
	}
	return nil
}

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
