package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/isolation"
)

// probeResult is the server's description of itself: tools, resources and prompts.
type probeResult struct {
	Name         string                `json:"name"`
	Title        string                `json:"title,omitempty"`
	Version      string                `json:"version"`
	Instructions string                `json:"instructions,omitempty"`
	Tools        map[string]listedTool `json:"tools"` // by the server's names
}

// probeServer starts the server of the definition in the input, in this process's own sandbox, and writes the
// server's description of itself to out. No tool is called.
func probeServer(in io.Reader, out io.Writer) error {
	var input struct {
		serverDefinition
		ID, Workspace, State, Data string
	}
	if err := json.NewDecoder(in).Decode(&input); err != nil {
		return fmt.Errorf("read the definition: %w", err)
	}
	s, err := newServer(input.ID, &input.serverDefinition)
	if err != nil {
		return err
	}
	dirs := placeholderDirs{workspace: input.Workspace, state: input.State, data: input.Data}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var transport mcp.Transport
	var child *childServer
	if input.URL != "" {
		transport = newHTTPTransport(&input.serverDefinition, dirs)
	} else {
		profile := isolation.Profile{Name: s.id, Exec: true, Network: true}
		child, err = startChildServer(s.launcher, profile, &input.serverDefinition, dirs, dirs.workspace, os.Environ())
		if err != nil {
			return err
		}
		transport = child.newTransport()
		defer child.stopServer()
	}
	session, err := s.openSession(ctx, transport, dirs.workspace)
	if err != nil {
		return s.abortStart(child, err)
	}
	info := probeResult{}
	if r := session.InitializeResult(); r != nil {
		info.Instructions = r.Instructions
		if r.ServerInfo != nil {
			info.Name, info.Title, info.Version = r.ServerInfo.Name, r.ServerInfo.Title, r.ServerInfo.Version
		}
	}
	if info.Tools, err = listTools(ctx, session, dirs); err != nil {
		return s.abortStart(child, err)
	}
	return json.NewEncoder(out).Encode(info)
}
