package clients

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// plain reads JSON with comments.
func plain(text []byte) (map[string]any, bool) {
	text = append(text[:len(text):len(text)], '\n')
	standard, err := hujson.Standardize(text)
	if err != nil {
		return nil, false
	}
	var out map[string]any
	return out, json.Unmarshal(standard, &out) == nil && out != nil
}

// checkJSON checks that an edit has set the entry, and nothing else.
func checkJSON(t *testing.T, name string, before, after []byte) {
	t.Helper()
	if len(before) >= 3 && string(before[:3]) == string(utf8BOM) {
		before, after = before[3:], after[3:]
	}
	was, _ := plain(before)
	is, ok := plain(after)
	if !ok {
		t.Fatalf("%s: the file is not JSON any more:\n%s", name, after)
	}
	servers, _ := is["mcpServers"].(map[string]any)
	entry, _ := servers["picoclaw"].(map[string]any)
	if entry["command"] != server.Command || cmp.Diff([]any{"mcp"}, entry["args"]) != "" {
		t.Errorf("%s: the entry is %v in\n%s", name, entry, after)
	}
	delete(servers, "picoclaw")
	had, _ := was["mcpServers"].(map[string]any)
	delete(had, "picoclaw")
	if len(servers) == 0 && len(had) == 0 {
		delete(is, "mcpServers")
		delete(was, "mcpServers")
	}
	if diff := cmp.Diff(was, is); diff != "" && len(was)+len(is) > 0 {
		t.Errorf("%s: something else has changed:\n%s", name, diff)
	}
}

func FuzzJSON(f *testing.F) {
	for _, edit := range jsonEdits {
		f.Add([]byte(edit.before))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		after, err := (ClientProgram{keys: []string{"mcpServers"}, entry: plainEntry}).AddServerToText(text, server)
		if err != nil {
			return
		}
		if _, ok := plain(text); ok {
			checkJSON(t, "fuzz", text, after)
		}
	})
}

func FuzzTOML(f *testing.F) {
	f.Add([]byte("[mcp_servers.picoclaw]\ncommand = 'x' # c\nargs = [\n1]\n[a]\n[[b]]\nc.d = {e = 1}\n"))
	f.Add([]byte("a = 1\r\n[mcp_servers]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		where := []string{"mcp_servers", "picoclaw"}
		after, err := setTOMLFields(text, where, plainEntry(server))
		if err != nil {
			return
		}
		var was, is map[string]any
		if toml.Unmarshal(text, &was) != nil || toml.Unmarshal(after, &is) != nil {
			t.Fatalf("%q became %q", text, after)
		}
		servers, _ := is["mcp_servers"].(map[string]any)
		had, _ := was["mcp_servers"].(map[string]any)
		delete(servers, "picoclaw")
		delete(had, "picoclaw")
		if len(servers) == 0 && len(had) == 0 {
			delete(is, "mcp_servers")
			delete(was, "mcp_servers")
		}
		a, errA := json.Marshal(was)
		b, errB := json.Marshal(is)
		if errA == nil && errB == nil && len(was)+len(is) > 0 && string(a) != string(b) {
			t.Errorf("something else has changed: %s became %s", a, b)
		}
	})
}
