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

// probed is what a server says of itself.
type probed struct {
	Name         string           `json:"name"`
	Title        string           `json:"title,omitempty"`
	Version      string           `json:"version"`
	Instructions string           `json:"instructions,omitempty"`
	Tools        map[string]found `json:"tools"` // by the server's names
}

// probe starts the server of a definition, which in holds, in this process's own sandbox and directory, and writes what
// it says of itself. It calls no tool.
func probe(in io.Reader, out io.Writer) error {
	var asked struct {
		definition
		ID, Workspace, State, Data string
	}
	if err := json.NewDecoder(in).Decode(&asked); err != nil {
		return fmt.Errorf("read the definition: %w", err)
	}
	s, err := newServer(asked.ID, &asked.definition)
	if err != nil {
		return err
	}
	where := places{workspace: asked.Workspace, state: asked.State, data: asked.Data}
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	var transport mcp.Transport
	var child *child
	if asked.URL != "" {
		transport = remote(&asked.definition, where)
	} else {
		profile := isolation.Profile{Name: s.id, Exec: true, Network: true}
		child, err = startChild(s.launcher, profile, &asked.definition, where, where.workspace, os.Environ())
		if err != nil {
			return err
		}
		transport = child.transport()
		defer child.end()
	}
	session, err := s.open(ctx, transport, where.workspace)
	if err != nil {
		return s.failed(child, err)
	}
	said := probed{}
	if r := session.InitializeResult(); r != nil {
		said.Instructions = r.Instructions
		if r.ServerInfo != nil {
			said.Name, said.Title, said.Version = r.ServerInfo.Name, r.ServerInfo.Title, r.ServerInfo.Version
		}
	}
	if said.Tools, err = list(ctx, session, where); err != nil {
		return s.failed(child, err)
	}
	return json.NewEncoder(out).Encode(said)
}
