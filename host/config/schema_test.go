package config

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func TestStructsMatchKeyTable(t *testing.T) {
	var file struct {
		Schema string `koanf:"$schema"`
		Agents struct {
			Defaults AgentDefaults `koanf:"defaults"`
			Agents   []struct {
				ID      string              `koanf:"id"`
				Modules []ModuleRestriction `koanf:"modules"`
				Plugins AgentPlugins        `koanf:"plugins"`
			} `koanf:"agents"`
		} `koanf:"agents"`
		Tools struct {
			Tools `koanf:",squash"`
			MCP   struct {
				Servers map[string]MCPServer `koanf:"servers"`
			} `koanf:"mcp"`
		} `koanf:"tools"`
		Isolation Isolation         `koanf:"isolation"`
		Network   Network           `koanf:"network"`
		Secrets   map[string]Secret `koanf:"secrets"`
		Plugins   map[string]Plugin `koanf:"plugins"`
		Audit     Audit             `koanf:"audit"`
		Log       Log               `koanf:"log"`
		Heartbeat Heartbeat         `koanf:"heartbeat"`
		Models    []Model           `koanf:"model_list"`
		Gateway   Gateway           `koanf:"gateway"`
		Fleet     Fleet             `koanf:"fleet"`
		Approvals Approvals         `koanf:"approvals"`
		Telemetry Telemetry         `koanf:"telemetry"`
		Signed    PluginSignatures  `koanf:"signatures"`
		Workspace struct {
			Protect FileProtection `koanf:"protect"`
		} `koanf:"workspace"`
	}
	have := map[string]bool{}
	fieldNames(reflect.TypeOf(file), "", have)
	for _, name := range []string{"ask", "from", "hosts", "methods", "ports", "requests"} { // the agent's alone
		delete(have, "plugins.<id>.network."+name)
	}
	delete(have, "plugins.<id>.grants.hosts")    // plugins.<id>.network says that
	delete(have, "plugins.<id>.grants.programs") // those that a plugin asks for, or none of them
	for _, row := range keyTable() {
		if strings.HasPrefix(row.Name, "hooks.") {
			continue // they are handed on as they are
		}
		if !have[row.Name] && row.Type != ObjectsType && row.Type != MapType {
			t.Errorf("no field holds %s", row.Name)
		}
		delete(have, row.Name)
	}
	for name := range have {
		t.Errorf("the field %s has no row", name)
	}
}

// fieldNames notes the full names of the fields that hold a value, by their tags or else by their own names.
func fieldNames(typ reflect.Type, name string, have map[string]bool) {
	switch {
	case typ.Kind() == reflect.Struct:
		for field := range typ.Fields() {
			switch tag := field.Tag.Get("koanf"); {
			case tag == ",squash":
				fieldNames(field.Type, name, have)
			case tag != ",remain" && tag != "-":
				fieldNames(field.Type, joinKeyName(name, cmp.Or(tag, strings.ToLower(field.Name))), have)
			}
		}
	case typ.Kind() == reflect.Pointer:
		fieldNames(typ.Elem(), name, have)
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct:
		fieldNames(typ.Elem(), name+"[]", have)
	case typ.Kind() == reflect.Map && typ.Elem().Kind() == reflect.Struct:
		fieldNames(typ.Elem(), name+".<id>", have)
	default:
		have[name] = true
	}
}

func TestKeyTable(t *testing.T) {
	types := []KeyType{StringType, BoolType, IntType, NumberType, SizeType, StringsType, IntsType, ObjectsType, MapType,
		FreeType,
		ListsType, TextsType, RulesType}
	formats := []StringFormat{"", PathFormat, AbsoluteFormat, TemplateFormat, RegexpFormat, GlobFormat, IDFormat,
		VariableFormat, WorkspacePathFormat, LowerFormat, WitnessFormat, URLFormat}
	names := map[string]bool{}
	for _, row := range KnownKeys() {
		if names[row.Name] {
			t.Errorf("%s is there twice", row.Name)
		}
		names[row.Name] = true
		if !slices.Contains(types, row.Type) || !slices.Contains(formats, row.Format) {
			t.Errorf("%s has an unknown type or format", row.Name)
		}
		if !strings.HasSuffix(row.Doc, ".") {
			t.Errorf("the documentation of %s is not a sentence", row.Name)
		}
		if s, ok := row.Default.(string); ok && row.Values != nil && !slices.Contains(row.Values, s) {
			t.Errorf("the default of %s is not one of its values", row.Name)
		}
		if own := row.NameInAgent(); own != "" && !slices.ContainsFunc(KnownKeys(),
			func(k KeySpec) bool { return k.Name == "agents.agents[]."+own }) {
			t.Errorf("an agent can't set %s", row.Name)
		}
	}
	for _, name := range []string{"agents.agents[].workspace", "agents.agents[].tools.exec.profile",
		"agents.agents[].isolation.network"} {
		if !names[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestJSONSchema(t *testing.T) {
	encoded, err := json.Marshal(JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	var decoded jsonschema.Schema
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		t.Fatal(err)
	}
	resolved, err := decoded.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	accepts := func(text string) error {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return resolved.Validate(value)
	}
	for _, text := range []string{
		`{}`,
		`{"$schema": "https://example.org/s.json", "agents": {"defaults": {"workspace": "~/ws"}, "list": [{"id": "a", "workspace": "/x"}]}}`,
		`{"agents": {"agents": [{"id": "a", "modules": [{"module": "filesystem", "actions": ["read"],
			"constraints": {"paths": ["{{workspace}}"], "max_file_size": 1000}}]}]}}`,
		`{"agents": {"agents": [{"id": "a", "modules": [{"module": "filesystem", "constraints": {"max_file_size": "1 KiB"}}]}]}}`,
		`{"log": {"level": "DEBUG", "format": "json"}, "audit": {"max_size": 4096, "sync": "always"}}`,
		`{"plugins": {"shell": {"enabled": false, "grants": {"env": ["LANG"]}, "config": {"any": [1]}}}}`,
	} {
		if err := accepts(text); err != nil {
			t.Errorf("the schema refuses %s: %v", text, err)
		}
		mustLoad(t, text)
	}
	for _, text := range []string{
		`{"log": {"level": "Debug"}}`, `{"audit": {"on_error": "ignore"}}`, `{"tool": {}}`, `{"tools": {"set": "x"}}`,
		`{"tools": {"exec": {"timeout_seconds": 0}}}`, `{"tools": {"enabled": [""]}}`,
		`{"agents": {"agents": [{}]}}`, `{"agents": {"agents": [], "list": []}}`, `{"agents": {"list": [{"id": "A"}]}}`,
		`{"plugins": {"A": {}}}`, `{"plugins": {"a": {"x": 1}}}`,
		`{"isolation": {"expose_paths": [{"source": "/a", "mode": "x"}]}}`,
		`{"agents": {"agents": [{"id": "a", "modules": [{"module": "filesystem", "constraints": {"max_file_size": "x"}}]}]}}`,
	} {
		if accepts(text) == nil {
			t.Errorf("the schema accepts %s", text)
		}
		i := newInstance(t)
		i.write("config.json", text)
		if _, err := i.load(); err == nil {
			t.Errorf("%s is loaded", text)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "12B": 12, "1KB": 1024, "2 kb": 2048, "3KiB": 3072, "100MB": 100 << 20, "50M": 50 << 20, "1gb": 1 << 30,
		"2TB":                 2 << 40,
		"9223372036854775807": 1<<63 - 1,
		"":                    -1, "0": -1, "0MB": -1, "-1": -1, "1.5MB": -1, "MB": -1, "1XB": -1, "1 MB ": -1, "1iB": -1,
		"9223372036854775808": -1, "8388608TB": -1, "99999999999999999999KB": -1,
	} {
		got, err := ParseSize(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %d bytes (%v); want %d", text, got, err, want)
		}
	}
}
