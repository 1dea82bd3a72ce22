package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/isolation"
)

// definitionFile is the file beside the manifest that contains the server's command or URL.
const definitionFile = "server.json"

// serverDefinition is the content of server.json: how to start or reach the server, and its accepted tools.
type serverDefinition struct {
	Command []string                          `json:"command,omitempty"` // program and arguments
	Env     map[string]string                 `json:"env,omitempty"`
	URL     string                            `json:"url,omitempty"` // for a server over HTTP
	Headers map[string]string                 `json:"headers,omitempty"`
	Roots   bool                              `json:"roots,omitempty"` // send the workspace as a root
	Tools   map[string]acceptedToolDefinition `json:"tools"`           // by their names in picoclaw
}

// acceptedToolDefinition identifies the definition of a tool that the operator accepted.
type acceptedToolDefinition struct {
	Name string `json:"name"` // the server's name of the tool
	Hash string `json:"hash"` // hash of the definition
}

// placeholderDirs are the directories for {{workspace}}, {{state}} and {{data}} in a definition.
type placeholderDirs struct{ workspace, state, data string }

// expandPlaceholders replaces {{workspace}}, {{state}}, {{data}} and ${NAME} in a text.
func (p placeholderDirs) expandPlaceholders(text string, variable func(string) string) string {
	text = strings.NewReplacer("{{workspace}}", p.workspace, "{{state}}", p.state, "{{data}}", p.data).Replace(text)
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		name, rest, closed := strings.Cut(after, "}")
		if !found || !closed {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(before)
		out.WriteString(variable(name))
		text = rest
	}
}

// insertPlaceholders replaces directories in a text with their placeholders, so that hashes are equal everywhere.
func (p placeholderDirs) insertPlaceholders(text []byte) []byte {
	for _, dir := range [][2]string{{p.workspace, "{{workspace}}"}, {p.state, "{{state}}"}, {p.data, "{{data}}"}} {
		if len(dir[0]) > 1 {
			text = bytes.ReplaceAll(text, []byte(dir[0]), []byte(dir[1]))
		}
	}
	return text
}

// hashTool returns the hash of a tool's definition: everything that the model sees of the tool.
func (p placeholderDirs) hashTool(t *mcp.Tool) (string, error) {
	text, err := json.Marshal(map[string]any{
		"name": t.Name, "title": t.Title, "description": t.Description, "annotations": t.Annotations,
		"input": t.InputSchema, "output": t.OutputSchema,
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(p.insertPlaceholders(text))), nil
}

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
