package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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
