package clients

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var server = ServerEntry{Name: "picoclaw", Command: "/opt/picoclaw", Args: []string{"mcp"}}

func client(t *testing.T, id string) ClientProgram {
	t.Helper()
	for _, c := range AllClients() {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("there is no client %s", id)
	return ClientProgram{}
}

// Each edit is a pair: what was there, and what is there afterwards.
var jsonEdits = []struct{ name, before, after string }{
	{"nothing", "", "{\n  \"mcpServers\": {\n    \"picoclaw\": {\n      \"command\": \"/opt/picoclaw\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n"},
	{"an empty object", "{}", "{\n  \"mcpServers\": {\n    \"picoclaw\": {\n      \"command\": \"/opt/picoclaw\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}"},
	{"comments, tabs and a trailing comma", `// mine
{
	"theme": "dark", // as at night
	/* servers */
	"mcpServers": {
		"other": {"command": "x", "args": [1,2, 3]}, // keep
	},
}
// the end`, `// mine
{
	"theme": "dark", // as at night
	/* servers */
	"mcpServers": {
		"other": {"command": "x", "args": [1,2, 3]}, // keep
		"picoclaw": {
			"command": "/opt/picoclaw",
			"args": ["mcp"]
		},
	},
}
// the end`},
	{"a comment behind the last member", "{\n    \"a\": 1 // one\n}\n",
		"{\n    \"a\": 1, // one\n    \"mcpServers\": {\n        \"picoclaw\": {\n            \"command\": \"/opt/picoclaw\",\n            \"args\": [\"mcp\"]\n        }\n    }\n}\n"},
	{"an object with a comment alone", "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
		"{\n  \"mcpServers\": {\n    // none yet\n    \"picoclaw\": {\n      \"command\": \"/opt/picoclaw\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n"},
	{"one line", `{"a":1,"mcpServers":{"o":{}}}`,
		`{"a":1,"mcpServers":{"o":{}, "picoclaw": {"command":"/opt/picoclaw", "args": ["mcp"]}}}`},
	{"an entry of an older place", "{\n  \"mcpServers\": {\n    \"picoclaw\": {\"command\": \"/old\", \"disabled\": true, \"args\": [\"mcp\"]} // mine\n  }\n}\n",
		"{\n  \"mcpServers\": {\n    \"picoclaw\": {\"command\": \"/opt/picoclaw\", \"disabled\": true, \"args\": [\"mcp\"]} // mine\n  }\n}\n"},
	{"the entry itself, written otherwise",
		"\ufeff{\"mcpServers\": {\"picoclaw\": {\"args\":[ \"mcp\" ,], \"command\": \"\\/opt/picoclaw\"}}}",
		"\ufeff{\"mcpServers\": {\"picoclaw\": {\"args\":[ \"mcp\" ,], \"command\": \"\\/opt/picoclaw\"}}}"},
	{"lines that end as on Windows", "{\r\n  \"a\": 1\r\n}\r\n",
		"{\r\n  \"a\": 1,\r\n  \"mcpServers\": {\r\n    \"picoclaw\": {\r\n      \"command\": \"/opt/picoclaw\",\r\n      \"args\": [\"mcp\"]\r\n    }\r\n  }\r\n}\r\n"},
}

func TestJSON(t *testing.T) {
	c := client(t, "cursor")
	for _, edit := range jsonEdits {
		got, err := c.AddServerToText([]byte(edit.before), server)
		if err != nil {
			t.Errorf("%s: %v", edit.name, err)
			continue
		}
		if diff := cmp.Diff(edit.after, string(got)); diff != "" {
			t.Errorf("%s:\n%s", edit.name, diff)
		}
		again, err := c.AddServerToText(got, server)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s: a second time it is changed (%v):\n%s", edit.name, err, again)
		}
		checkJSON(t, edit.name, []byte(edit.before), got)
	}
}

func TestJSONThatIsNotEdited(t *testing.T) {
	for text, want := range map[string]string{
		"[]":                                       "the file's content is not an object",
		`{"mcpServers": []}`:                       "mcpServers is not an object",
		`{"mcpServers": {"picoclaw": 1}}`:          "mcpServers.picoclaw is not an object",
		`{"mcpServers": {}, "mcpServers": {}}`:     `"mcpServers" is twice in the file's content`,
		`{"mcpServers": `:                          "the file is not JSON",
		strings.Repeat("[", 1<<20):                 "nested too deeply",
		"{\"x\": \"" + strings.Repeat("{", 20_000): "nested too deeply",
	} {
		_, err := client(t, "cursor").AddServerToText([]byte(text), server)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "paste the entry by hand") {
			t.Errorf("%.40s: the error is %v", text, err)
		}
	}
}

func TestListAppend(t *testing.T) {
	for _, edit := range []struct{ key, before, after string }{
		{"permissions.deny", `{"permissions": {"deny": [ "Bash", /* mine */ "X" ]}}`,
			`{"permissions": {"deny": [ "Bash", /* mine */ "X","Edit" ]}}`},
		{"permissions.deny", `{"permissions": {"deny": null}}`, `{"permissions": {"deny": ["Bash","Edit"]}}`},
		{"agents[1].deny", `{"agents": [{}, {"deny": [ "Edit" ]}]} // end`, `{"agents": [{}, {"deny": [ "Edit","Bash" ]}]} // end`},
		{"deny", "\ufeff{\"a\": 1}", "\ufeff{\"a\": 1, \"deny\": [\"Bash\",\"Edit\"]}"},
		{"deny", `{"deny": ["Edit","Bash",]}`, `{"deny": ["Edit","Bash",]}`},
	} {
		where := strings.Split(keyIndex().ReplaceAllString(edit.key, ".$1"), ".")
		got, err := appendToJSONList([]byte(edit.before), where, []any{"Bash", "Edit"})
		if diff := cmp.Diff(edit.after, string(got)); err != nil || diff != "" {
			t.Errorf("%s (%v):\n%s", edit.before, err, diff)
		}
	}
	for text, want := range map[string]string{
		`{"deny": 1}`:              "deny is not a list",
		`{"deny": [], "deny": []}`: `"deny" is twice in the file's content`,
		`[]`:                       "the file's content is not an object",
	} {
		if _, err := appendToJSONList([]byte(text), []string{"deny"}, []any{"x"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", text, err)
		}
	}
}

func TestTOML(t *testing.T) {
	c := client(t, "codex")
	entry := "[mcp_servers.picoclaw]\ncommand = '/opt/picoclaw'\nargs = ['mcp']\n"
	for _, edit := range []struct{ name, before, after string }{
		{"nothing", "", entry},
		{"other settings", "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = 'y' # keep",
			"# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = 'y' # keep\n\n" + entry},
		{"an entry of an older place",
			"[mcp_servers.picoclaw] # mine\n# where it is\ncommand = '/old'   # keep\nstartup_timeout_sec = 20\nargs = [\n  \"mcp\", # the verb\n]\n\n[mcp_servers.picoclaw.env]\nA = \"b\"\n[z]\n",
			"[mcp_servers.picoclaw] # mine\n# where it is\ncommand = '/opt/picoclaw'   # keep\nstartup_timeout_sec = 20\nargs = [\n  \"mcp\", # the verb\n]\n\n[mcp_servers.picoclaw.env]\nA = \"b\"\n[z]\n"},
		{"half an entry", "[mcp_servers.\"picoclaw\"]\nargs = [\"x\"]\n\n# about z\n[z]\na = 1\n",
			"[mcp_servers.\"picoclaw\"]\ncommand = '/opt/picoclaw'\nargs = ['mcp']\n\n# about z\n[z]\na = 1\n"},
		{"lines that end as on Windows", "a = 1\r\n", "a = 1\r\n\r\n" + strings.ReplaceAll(entry, "\n", "\r\n")},
	} {
		got, err := c.AddServerToText([]byte(edit.before), server)
		if err != nil {
			t.Errorf("%s: %v", edit.name, err)
			continue
		}
		if diff := cmp.Diff(edit.after, string(got)); diff != "" {
			t.Errorf("%s:\n%s", edit.name, diff)
		}
		if again, err := c.AddServerToText(got, server); err != nil || string(again) != string(got) {
			t.Errorf("%s: a second time it is changed (%v):\n%s", edit.name, err, again)
		}
	}
	for text, want := range map[string]string{
		"mcp_servers = { other = {} }\n":                "not written as [mcp_servers.picoclaw]",
		"mcp_servers.picoclaw.command = 'x'\n":          "not written as",
		"[mcp_servers]\npicoclaw = { command = 'x' }\n": "not written as",
		"[[mcp_servers.picoclaw]]\n":                    "not written as",
		"a = \n":                                        "the file is not TOML",
	} {
		if _, err := c.AddServerToText([]byte(text), server); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v", text, err)
		}
	}
}

func TestEntriesOfAllClients(t *testing.T) {
	s := ServerEntry{Name: "picoclaw", Command: `/a "b"\c`, Args: []string{"mcp", "--agent", "x"},
		Env: map[string]string{"PICOCLAW_HOME": "/h", "A": "1"}}
	for id, want := range map[string]string{
		"vscode":   "{\n  \"servers\": {\n    \"picoclaw\": {\n      \"type\": \"stdio\",\n      \"command\": \"/a \\\"b\\\"\\\\c\",\n      \"args\": [\"mcp\", \"--agent\", \"x\"],\n      \"env\": {\n        \"A\": \"1\",\n        \"PICOCLAW_HOME\": \"/h\"\n      }\n    }\n  }\n}\n",
		"codex":    "[mcp_servers.picoclaw]\ncommand = '/a \"b\"\\c'\nargs = ['mcp', '--agent', 'x']\nenv = {A = '1', PICOCLAW_HOME = '/h'}\n",
		"opencode": "{\n  \"mcp\": {\n    \"picoclaw\": {\n      \"type\": \"local\",\n      \"command\": [\"/a \\\"b\\\"\\\\c\", \"mcp\", \"--agent\", \"x\"],\n      \"enabled\": true,\n      \"environment\": {\n        \"A\": \"1\",\n        \"PICOCLAW_HOME\": \"/h\"\n      }\n    }\n  }\n}\n",
	} {
		got, err := client(t, id).SettingsSnippet(s)
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", id, diff)
		}
	}
	for _, c := range AllClients() {
		snippet, err := c.SettingsSnippet(s)
		if err != nil || !strings.Contains(snippet, "picoclaw") {
			t.Errorf("%s: %s (%v)", c.ID, snippet, err)
		}
	}
}
