package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// definitionFile is the name of the file that says how the server is started, beside the manifest.
const definitionFile = "server.json"

// definition is how a server is started, or where it is, and which tools of it were accepted.
type definition struct {
	Command []string          `json:"command,omitempty"` // the program and its arguments
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"` // of a server that is reached over HTTP
	Headers map[string]string `json:"headers,omitempty"`
	Roots   bool              `json:"roots,omitempty"` // tell the server of the workspace
	Tools   map[string]pin    `json:"tools"`           // by their names here
}

// pin is a tool as it was accepted.
type pin struct {
	Name string `json:"name"` // the server's
	Hash string `json:"hash"` // of its definition
}

// places are the directories that a definition can name.
type places struct{ workspace, state, data string }

// fill puts directories and variables into a text: {{workspace}}, {{state}}, {{data}}, and ${NAME}.
func (p places) fill(text string, variable func(string) string) string {
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

// named puts the names of directories in their place: what a server says of them is the same wherever they are.
func (p places) named(text []byte) []byte {
	for _, dir := range [][2]string{{p.workspace, "{{workspace}}"}, {p.state, "{{state}}"}, {p.data, "{{data}}"}} {
		if len(dir[0]) > 1 {
			text = bytes.ReplaceAll(text, []byte(dir[0]), []byte(dir[1]))
		}
	}
	return text
}

// hashOf is what tells one definition of a tool from another: all that a model is told of it.
func (p places) hashOf(t *mcp.Tool) (string, error) {
	text, err := json.Marshal(map[string]any{
		"name": t.Name, "title": t.Title, "description": t.Description, "annotations": t.Annotations,
		"input": t.InputSchema, "output": t.OutputSchema,
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(p.named(text))), nil
}
