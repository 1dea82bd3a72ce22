//go:build long

package mcp_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
)

// fromNPM are the pinned servers, by the names that they get here, with what follows add's name.
var fromNPM = map[string][]string{
	"everything": {"--", "npx", "-y", "@modelcontextprotocol/server-everything@2026.8.31"},
	"files":      {"--workspace", "rw", "--", "npx", "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "{{workspace}}"},
	"notes":      {"--", "npx", "-y", "@modelcontextprotocol/server-memory@2026.8.31"},
	"think":      {"--", "npx", "-y", "@modelcontextprotocol/server-sequential-thinking@2026.8.31"},
}

// All that the protocol's authors' servers do works, each fetched once for all of these.
func TestReferenceServers(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	for name, args := range fromNPM {
		said := h.AddServer(name, args...)
		if !strings.Contains(said, "2026.8.31") {
			t.Errorf("%s: %s", name, said)
		}
	}
	all := h.ListServers()
	for name, tools := range map[string]int{"everything": 14, "files": 14, "notes": 9, "think": 1} {
		one := all[name]
		maps.DeleteFunc(one.Tools, func(tool, _ string) bool {
			return strings.HasPrefix(tool, "prompt:") || strings.HasPrefix(tool, "resource:")
		})
		if one.State != "ok" || len(one.Tools) != tools || !strings.HasPrefix(one.Version, "2026.8.31+") ||
			!strings.HasSuffix(one.Package, " 2026.8.31") {
			t.Errorf("%s: %+v", name, one)
		}
	}
	t.Run("everything", func(t *testing.T) { everything(h, t) })
	t.Run("files", func(t *testing.T) { files(h, t) })
	t.Run("memory", func(t *testing.T) { remember(t, h, "notes") })
	t.Run("sequential thinking", func(t *testing.T) {
		a := h.CallTool("think.sequentialthinking", map[string]any{"thought": "Once", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1})
		if !a.OK || !strings.Contains(a.Text, `"thoughtHistoryLength": 1`) {
			t.Error(a.FullText())
		}
	})
	t.Run("a package that is not there", func(t *testing.T) {
		out, said, code := h.Run("mcp", "add", "x", "--yes", "--", "npx", "-y", "@modelcontextprotocol/no-such-server-as-this")
		if code != 1 || !strings.Contains(said, "Not Found") && !strings.Contains(said, "404") {
			t.Errorf("%d %s%s", code, out, said)
		}
	})
}

func everything(h mcptest.Home, t *testing.T) {
	seen := make(chan *sdkmcp.ProgressNotificationParams, 6000) // all: one too many holds up the rest
	asked := make(chan string, 4)
	options := filling(asked, map[string]any{"name": "Ada"})
	options.ProgressNotificationHandler = func(_ context.Context, r *sdkmcp.ProgressNotificationClientRequest) { seen <- r.Params }
	c, _, _ := h.ConnectClient(options)
	if r := mcptest.MustCallTool(t, c, "everything_get_sum", map[string]any{"a": 2, "b": 3}); mcptest.ResultText(r) != "The sum of 2 and 3 is 5." {
		t.Error(mcptest.ResultText(r))
	}
	r := mcptest.MustCallTool(t, c, "everything_get_structured_content", map[string]any{"location": "Chicago"})
	if weather, ok := r.StructuredContent.(map[string]any); !ok || weather["humidity"] == nil {
		t.Errorf("%v", r.StructuredContent)
	}
	r = mcptest.MustCallTool(t, c, "everything_get_tiny_image", map[string]any{})
	if !slices.ContainsFunc(r.Content, func(c sdkmcp.Content) bool {
		image, is := c.(*sdkmcp.ImageContent)
		return is && image.MIMEType == "image/png" && strings.HasPrefix(string(image.Data), "\x89PNG")
	}) {
		t.Errorf("there is no image: %.200s", mcptest.ResultText(r))
	}
	r = mcptest.MustCallTool(t, c, "everything_get_resource_reference", map[string]any{"resourceType": "Blob", "resourceId": 1})
	if !slices.ContainsFunc(r.Content, func(c sdkmcp.Content) bool {
		embedded, is := c.(*sdkmcp.EmbeddedResource)
		return is && embedded.Resource.URI == "demo://resource/dynamic/blob/1" && len(embedded.Resource.Blob) > 0
	}) {
		t.Errorf("there is no resource: %.200s", mcptest.ResultText(r))
	}
	// A long call tells how far it is, and can be cancelled; the next one works.
	params := &sdkmcp.CallToolParams{Name: "everything_trigger_long_running_operation", Arguments: map[string]any{"duration": 600, "steps": 6000}}
	params.SetProgressToken("token")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := c.CallTool(ctx, params); ended <- err }()
	if p := received(t, seen); p == nil || p.Total != 6000 || p.Progress < 1 {
		t.Errorf("%+v", p)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a cancelled call has succeeded")
	}
	r = mcptest.MustCallTool(t, c, "everything_trigger_elicitation_request", map[string]any{})
	if said := received(t, asked); !strings.Contains(said, "everything") || !strings.Contains(mcptest.ResultText(r), "Ada") {
		t.Errorf("%q: %s", said, mcptest.ResultText(r))
	}
	if a := h.CallTool("everything.get_env", map[string]any{}); strings.Contains(a.Text, "PICOCLAW_") {
		t.Error(a.FullText())
	}
}

func files(h mcptest.Home, t *testing.T) {
	at := filepath.Join(h.Workspace, "poem")
	write := func(text string) mcptest.CallResult {
		return h.CallTool("files.write_file", map[string]any{"path": at, "content": text})
	}
	if a := write("first"); !a.OK {
		t.Fatal(a.FullText())
	}
	if a := write("second"); !a.OK {
		t.Fatal(a.FullText())
	}
	if a := h.CallTool("files.read_text_file", map[string]any{"path": at}); a.Text != "second" {
		t.Error(a.FullText())
	}
	if out, said, code := h.Run("call", "undo"); code != 0 {
		t.Errorf("%s%s", out, said)
	}
	if text, _ := os.ReadFile(at); string(text) != "first" {
		t.Errorf("undone, it is %q", text)
	}
	h.WriteFile("outside", "secret")
	out := filepath.Join(h.Home, "outside")
	for tool, args := range map[string]map[string]any{
		"read_text_file": {"path": out}, "write_file": {"path": out, "content": "x"}, "move_file": {"source": out, "destination": at},
		"list_directory": {"path": h.Home}, "read_multiple_files": {"paths": []string{at, out}},
	} {
		if a := h.CallTool("files."+tool, args); a.OK || a.Error.Rule != "workspace.outside" {
			t.Errorf("%s: %s", tool, a.FullText())
		}
	}
	// With no guard, and a server that takes the whole disk for its own, the sandbox refuses what is outside.
	claims := []string{"--workspace", "rw"}
	for _, tool := range []string{"read_text_file", "write_file"} {
		claims = append(claims, "--claim", tool+".path=none")
	}
	h.AddServer("unguarded", append(claims, "--", "npx", "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "{{workspace}}", "/")...)
	h.WriteFile("workspace/poem", "inside")
	if a := h.CallTool("unguarded.read_text_file", map[string]any{"path": at}); a.Text != "inside" {
		t.Error(a.FullText())
	}
	if a := h.CallTool("unguarded.read_text_file", map[string]any{"path": out}); a.OK || strings.Contains(a.FullText(), "secret") || a.Error.Rule != "" {
		t.Error(a.FullText())
	}
	if a := h.CallTool("unguarded.write_file", map[string]any{"path": out, "content": "x"}); a.OK || a.Error.Rule != "" {
		t.Error(a.FullText())
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "secret" {
		t.Errorf("%q %v", text, err)
	}
}
