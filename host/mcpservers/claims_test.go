package mcpservers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Arguments that name something are guarded, in whatever form a schema says that they are texts.
func TestProposeClaims(t *testing.T) {
	for _, c := range []struct{ tool, properties, want string }{
		{"read_file", `{"path":{"type":"string"},"count":{"type":"integer"}}`, "path read"},
		{"save", `{"path":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"Path"}}`, "path write"},
		{"save", `{"paths":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]}}`, "paths.* write"},
		{"save", `{"path":{"type":["string","array"],"items":{"type":"string"}}}`, "path write, path.* write"},
		{"apply", `{"edits":{"type":"array","items":{"type":"object","properties":{"file":{"type":"string"}}}}}`,
			"edits.*.file write"},
		{"apply", `{"opts":{"type":"object","properties":{"out_dir":{"type":"string"}}}}`, "opts.out_dir write"},
		{"run", `{"cmd":{"type":"string"}}`, "cmd command"},
		{"move_file", `{"source":{"type":"string"},"destination":{"type":"string"}}`, "destination write, source delete"},
		{"save", `{"path":{"anyOf":[{"type":"string","enum":["a"]},{"type":"null"}]}}`, ""},
	} {
		d := ToolDescription{Name: c.tool}
		if err := json.Unmarshal([]byte(`{"type":"object","properties":`+c.properties+`}`), &d.Input); err != nil {
			t.Fatal(err)
		}
		b, err := buildManifest("id", &ServerSpec{Command: []string{"x"}, Workspace: "rw"}, &ServerInfo{Tools: map[string]ListedTool{c.tool: {Tool: d}}},
			nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		input, err := b.manifest.Tools[0].Input.Parse()
		if err != nil {
			t.Fatal(err)
		}
		sites, err := pluginpb.FindClaims(input)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range sites {
			got = append(got, fmt.Sprintf("%s %s", strings.Join(s.Path, "."), s.Claim))
		}
		slices.Sort(got)
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s %s: %s, not %s", c.tool, c.properties, text, c.want)
		}
	}
}
