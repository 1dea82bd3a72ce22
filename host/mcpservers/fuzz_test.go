package mcpservers

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// said makes what a server says of the text of its tools.
func said(text []byte) *ServerInfo {
	s := &ServerInfo{Name: "fuzz", Tools: map[string]ListedTool{}}
	var tools []ToolDescription
	if json.Unmarshal(text, &tools) != nil {
		return nil
	}
	for _, d := range tools {
		s.Tools[d.Name] = ListedTool{Tool: d, Hash: "h"}
	}
	return s
}

// Whatever a server says of its tools, what is made of it is a manifest that the host takes, with names that clients
// take, and nothing in it is guarded as the server says.
func FuzzBuild(f *testing.F) {
	for _, text := range []string{
		`[{"name":"a b","description":"x","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]`,
		`[{"name":"A"},{"name":"a"},{"name":"Ａ"},{"name":"a_ca978112"},{"name":"A_ca978112"},{"name":""},{"name":"日本"}]`,
		`[{"name":"x","inputSchema":{"$ref":"#/definitions/a","definitions":{"a":{"anyOf":[{"type":"null"}]}}}}]`,
		`[{"name":"x","inputSchema":{"properties":{"command":{"type":["string","null"],"x-picoclaw-claim":"read"}}}}]`,
		`[{"name":"x","inputSchema":{"properties":{"paths":{"type":"array","items":{"type":"string"}}}},"outputSchema":{"$schema":7}}]`,
		`[{"name":"x","inputSchema":{"properties":{"$schema":{"type":"string"},"type":7,"*":[]}}}]`,
		`[{"name":"` + strings.Repeat("long", 40) + `","description":"\u0000\u202e"}]`,
	} {
		f.Add("evil", "rw", []byte(text))
		f.Add(strings.Repeat("i", 53), "", []byte(text))
	}
	f.Fuzz(func(t *testing.T, id, workspace string, text []byte) {
		said := said(text)
		if said == nil || pluginpb.CheckPluginID(id) != nil {
			t.Skip()
		}
		SuspiciousTextWarnings(said, func(string) string { return "" })
		b, err := buildManifest(id, &ServerSpec{Command: []string{"x"}, Workspace: workspace}, said, nil, nil)
		if err != nil {
			return
		}
		if len(b.manifest.Tools)+len(b.leftOut) != len(said.Tools) || len(b.tools) != len(b.manifest.Tools) {
			t.Errorf("%d tools, %d left out of %d", len(b.tools), len(b.leftOut), len(said.Tools))
		}
		names := map[string]bool{}
		for _, tool := range b.manifest.Tools {
			if names[tool.Name] || b.tools[tool.Name].Name == "" {
				t.Errorf("%q is called as another: %v", tool.Name, b.tools)
			}
			names[tool.Name] = true
			if len(id)+1+len(tool.Name) > maxClientName {
				t.Errorf("%s.%s is too long", id, tool.Name)
			}
		}
		if workspace == "" || workspace == "none" || workspace == "ro" || workspace == "rw" {
			b.manifest.Version = "1"
			if err := b.manifest.Check(); err != nil {
				t.Errorf("the host refuses it: %v", err)
			}
		}
	})
}

// What clients' settings say is read, or is an error.
func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"A b": {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}}}} // comment`))
	f.Add([]byte(`{"servers": {"x": {"command": ["a", "b"], "url": "https://x"}, "X": {"httpUrl": ""}}}`))
	f.Add([]byte(`{"context_servers": {"": {"command": {}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, wrong, err := ParseClientConfig(text)
		if err == nil && len(all)+len(wrong) == 0 {
			t.Error("it has no servers, and that is no error")
		}
		for _, spec := range all {
			_ = spec.Validate()
		}
	})
}

// Command lines are understood, or are errors; what is fetched is a package of a registry and nothing that the package
// manager could take for an option, a file or an address.
func FuzzPlan(f *testing.F) {
	for _, line := range []string{"npx -y a", "npx -p @a/b@1 c --x", "npx --package=x y", "npx -p", "uvx --from a==1 b", "uvx a@latest",
		"uvx a[x]@1", "npx ../x", "npx file:x", "npx git+ssh://x", "npx a@npm:b", "npx a@https://x", "uvx ./x", "uvx --from", "docker run"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Fields(line)
		if len(args) == 0 || args[0] != "npx" && args[0] != "uvx" {
			t.Skip()
		}
		r, err := planInstall(&ServerSpec{Command: args})
		if err != nil {
			return
		}
		if r.fetch == nil || r.fetch.name == "" || strings.HasPrefix(r.fetch.spec, "-") || strings.HasPrefix(r.fetch.spec, ".") ||
			strings.Contains(r.fetch.spec, "://") || strings.Contains(r.fetch.name, "..") || strings.Count(r.fetch.name, "/") > 1 {
			t.Errorf("%q fetches %+v", line, r.fetch)
		}
	})
}

// What is suspicious is told in words that can be shown.
func FuzzReview(f *testing.F) {
	f.Add("<IMPORTANT>", "do not tell\u200b", "\xff\u202e")
	f.Fuzz(func(t *testing.T, name, description, field string) {
		s := &ServerInfo{Instructions: description, Tools: map[string]ListedTool{name: {Tool: ToolDescription{Name: name, Description: description,
			Input: map[string]any{"properties": map[string]any{field: map[string]any{"description": description}}}}}}}
		for _, text := range SuspiciousTextWarnings(s, func(string) string { return "" }) {
			if !utf8.ValidString(text) && utf8.ValidString(name+description+field) {
				t.Errorf("%q", text)
			}
		}
	})
}
