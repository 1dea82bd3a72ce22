package config

import (
	"errors"
	"strings"
	"testing"
)

// The faults of a JSON file, each with the whole of the one error for it. FILE stands for the path of the file.
var jsonFaults = []struct{ text, want string }{
	// Keys.
	{"{\n\n\"tools\": {\"exce\": {\"env\": []}}}", `FILE:3: tools.exce: unknown key; the nearest known key is tools.exec`},
	{`{"restrict_to_workspace": false}`,
		`FILE:1: restrict_to_workspace: unknown key; the nearest known key is agents.defaults.restrict_to_workspace`},
	{`{"agents": {"Agents": []}}`, `FILE:1: agents.Agents: unknown key; the nearest known key is agents.agents`},
	{`{"tools": {"Tools": {}}}`, `FILE:1: tools.Tools: unknown key; the nearest known key is tools`},
	{`{"Tools": {}}`, `FILE:1: Tools: unknown key; the nearest known key is tools`},
	{`{"tools": {"enabeld": ["x"]}}`, `FILE:1: tools.enabeld: unknown key; the nearest known key is tools.enabled`},
	{`{"agents": {"list": [{"id": "a"}, {"id": "b", "tool": {}}]}}`,
		`FILE:1: agents.list[1].tool: unknown key; the nearest known key is agents.list[1].tools`},
	{`{"agents": {"agents": [{"id": "a", "isolation": {"enabled": true}}]}}`,
		`FILE:1: agents.agents[0].isolation.enabled: unknown key; the nearest known key is agents.agents[0].tools.enabled`},
	{`{"plugins": {"shell": {"grants": {"exce": true}}}}`,
		`FILE:1: plugins.shell.grants.exce: unknown key; the nearest known key is plugins.shell.grants.exec`},
	{`{"plugins": {"shell": {"zzz": 1}}}`,
		`FILE:1: plugins.shell.zzz: unknown key; the nearest known key is plugins.shell.dev, and plugins.shell has enabled, dev, grants, network, config`},
	{`{"tools.set": "all"}`, `FILE:1: tools.set: unknown key: a name with dots is written as one object in the other; the nearest known key is tools.set`},
	{"{\"tools\": {\"set\": \"all\",\n\"set\": \"all\"}}",
		`FILE:2: tools.set: the key occurs twice, first at FILE:1; remove one of them`},
	{`{"plugins": {"p": {"config": {"a": {"b": 1, "b": 2}}}}}`,
		`FILE:1: plugins.p.config.a.b: the key occurs twice, first at FILE:1; remove one of them`},
	{`{"agents": {"list": [], "agents": []}}`,
		`FILE:1: agents.agents: means the same as agents.list at FILE:1; remove one of them`},
	{`{"agents": {"agents": [{}]}}`, `FILE:1: agents.agents[0].id: is missing`},
	{`{"isolation": {"expose_paths": [{"target": "/a"}]}}`, `FILE:1: isolation.expose_paths[0].source: is missing`},

	// Types.
	{`[]`, `FILE:1: must be an object, not a list`},
	{`{"tools": []}`, `FILE:1: tools: must be an object, not a list`},
	{`{"tools": null}`, `FILE:1: tools: must be an object, not null; remove the key to have its default`},
	{`{"agents": {"agents": {"id": "a"}}}`, `FILE:1: agents.agents: must be a list of objects, not an object`},
	{`{"agents": {"agents": ["a"]}}`, `FILE:1: agents.agents[0]: must be an object, not the string "a"`},
	{`{"agents": {"defaults": {"restrict_to_workspace": "true"}}}`,
		`FILE:1: agents.defaults.restrict_to_workspace: must be true or false, not the string "true"`},
	{`{"tools": {"exec": {"timeout_seconds": 1.5}}}`,
		`FILE:1: tools.exec.timeout_seconds: must be a whole number, not a number (1.5)`},
	{`{"tools": {"exec": {"timeout_seconds": 86401}}}`,
		`FILE:1: tools.exec.timeout_seconds: 86401 is not between 1 and 86400`},
	{`{"tools": {"exec": {"timeout_seconds": 99999999999999999999}}}`,
		`FILE:1: tools.exec.timeout_seconds: 99999999999999999999 is not between 1 and 86400`},
	{`{"agents": {"defaults": {"max_tokens": -9223372036854775809}}}`,
		`FILE:1: agents.defaults.max_tokens: -9223372036854775809 is not between 1 and 10000000`},
	{`{"telemetry": {"sample": 1.01}}`, `FILE:1: telemetry.sample: 1.01 is not between 0 and 1`},
	{`{"tools": {"disabled": "exec"}}`, `FILE:1: tools.disabled: must be a list of strings, not the string "exec"`},
	{`{"tools": {"disabled": ["exec", 1]}}`, `FILE:1: tools.disabled[1]: must be a string, not a number (1)`},
	{`{"plugins": {"p": {"config": []}}}`, `FILE:1: plugins.p.config: must be an object, not a list`},

	// Values.
	{`{"tools": {"set": "picclaw"}}`,
		`FILE:1: tools.set: "picclaw" is not known; the nearest is "picoclaw"; known are picoclaw, module, all`},
	{`{"tools": {"exec": {"profile": "strict"}}}`,
		`FILE:1: tools.exec.profile: "strict" is not known; the nearest is "seed_strict"; known are default, seed_strict`},
	{"{\"tools\": {\"allow_read_paths\": [\"^/a$\",\n\"^/(b\"]}}",
		"FILE:2: tools.allow_read_paths[1]: \"^/(b\" is not a regular expression: missing closing ): `^/(b`"},
	{`{"tools": {"exec": {"custom_deny_patterns": ["(?=x)"]}}}`,
		"FILE:1: tools.exec.custom_deny_patterns[0]: \"(?=x)\" is not a regular expression: invalid or unsupported Perl syntax: `(?=`"},
	{`{"tools": {"enabled": ["[a"]}}`, `FILE:1: tools.enabled[0]: "[a" is not a name or a glob`},
	{`{"tools": {"enabled": [""]}}`, `FILE:1: tools.enabled[0]: is empty`},
	{`{"tools": {"exec": {"env": ["A B"]}}}`, `FILE:1: tools.exec.env[0]: "A B" is not the name of a variable`},
	{`{"agents": {"defaults": {"workspace": ""}}}`, `FILE:1: agents.defaults.workspace: is empty`},
	{`{"agents": {"defaults": {"workspace": "ws"}}}`, `FILE:1: agents.defaults.workspace: "ws" is not an absolute path`},
	{`{"agents": {"defaults": {"workspace": "~other/ws"}}}`,
		`FILE:1: agents.defaults.workspace: "~other/ws" names another user's home, which is not supported`},
	{`{"agents": {"defaults": {"workspace": "/a\u0000b"}}}`, `FILE:1: agents.defaults.workspace: contains a NUL byte`},
	{`{"isolation": {"expose_paths": [{"source": "/a", "mode": "rx"}]}}`,
		`FILE:1: isolation.expose_paths[0].mode: "rx" is not known; the nearest is "ro"; known are ro, rw`},
	{`{"isolation": {"expose_paths": [{"source": "/a", "target": "~/a"}]}}`,
		`FILE:1: isolation.expose_paths[0].target: "~/a" is not an absolute path`},
	{`{"plugins": {"A": {}}}`, `FILE:1: plugins.A: "A" is not an id: small letters, digits, _ and -, a letter or digit first, at most 64`},
	{`{"agents": {"agents": [{"id": "` + strings.Repeat("x", 65) + `"}]}}`,
		`FILE:1: agents.agents[0].id: "` + strings.Repeat("x", 65) +
			`" is not an id: small letters, digits, _ and -, a letter or digit first, at most 64`},
	{"{\"agents\": {\"agents\": [{\"id\": \"a\"}, {\"id\": \"b\"},\n{\"id\": \"a\"}]}}",
		`FILE:2: agents.agents[2].id: "a" is already the id of agents.agents[0]`},
	{`{"agents": {"agents": [{"id": "a", "modules": [{"module": "network"}]}]}}`,
		`FILE:1: agents.agents[0].modules[0].module: "network" is not known; the nearest is "filesystem"; known are filesystem`},
	{`{"agents": {"agents": [{"id": "a", "modules": [{"module": "filesystem", "actions": ["reed"]}]}]}}`,
		`FILE:1: agents.agents[0].modules[0].actions[0]: "reed" is not known; the nearest is "read"; known are read, write, edit, insert, ls, grep, find, mv, cp, rm, mkdir, file_stat, undo, history`},
	{`{"agents": {"agents": [{"id": "a", "modules": [{"module": "filesystem", "constraints": {"paths": ["{{home}}"]}}]}]}}`,
		`FILE:1: agents.agents[0].modules[0].constraints.paths[0]: "{{home}}" contains an unknown template; the only one is {{workspace}}, at the start`},
	{`{"agents": {"agents": [{"id": "a", "modules": [{"module": "filesystem", "constraints": {"max_file_size": "50XB"}}]}]}}`,
		`FILE:1: agents.agents[0].modules[0].constraints.max_file_size: "50XB" is not a size such as "50MB"`},

	// Syntax.
	{"{\"tools\": {\n\"allow_write_paths\": [\"^/tmp/picoclaw-.*\\.txt$\"]}}",
		`FILE:2: invalid escape \. in the string "^/tmp/picoclaw-.*\.txt$"; in JSON a backslash is written twice: \\.`},
	{"", `FILE:1: the file is empty; restore a copy, or move it away, remove its line from files.json in the home, and write a new one with ` +
		"`picoclaw init`"},
	{"{\n\"tools\": {\n", `FILE:2: this is not JSON: it ends before it is complete; a closing quote, bracket or brace is missing`},
	{"{} /* x", `FILE:1: this is not JSON: it ends before it is complete; a closing quote, bracket or brace is missing`},
	{"{\n'a': 1}", `FILE:2: this is not JSON: column 1: invalid character '\'' at start of value`},
	{`{"a": True}`, `FILE:1: this is not JSON: column 7: invalid literal: True; strings are written in double quotes`},
	{"{\"a\": \"x\ny\"}", "FILE:1: this is not JSON: column 7: invalid literal: \"x\ny\"; a string ends on the line that it starts on, and holds no raw control characters"},
	{`{} {}`, `FILE:1: this is not JSON: column 4: invalid character '{' after top-level value`},
	{strings.Repeat("[", 1<<20), `FILE:1: nested more than 64 levels deep`},
	{strings.Repeat(`{"a":`, 1<<18), `FILE:1: nested more than 64 levels deep`},
	{"{\"a\": \"\xff\"}", `FILE: the configuration file is not UTF-8`},
	{strings.Repeat(" ", maxFileBytes+1), `FILE: the configuration file can't be read: it is larger than 4194304 bytes`},
}

func TestJSONFileErrors(t *testing.T) {
	for _, fault := range jsonFaults {
		checkFault(t, "config.json", fault.text, fault.want)
	}
}

func TestYAMLFileErrors(t *testing.T) {
	for _, fault := range []struct{ text, want string }{
		{"tools:\n  exce: {}\n", `FILE:2: tools.exce: unknown key; the nearest known key is tools.exec`},
		{"tools:\n  set: all\n  set: all\n", `FILE:3: tools.set: the key occurs twice, first at FILE:2; remove one of them`},
		{"isolation:\n  enabled: yes\n", `FILE:2: isolation.enabled: must be true or false, not the string "yes"`},
		{"tools: {set: 1}\n", `FILE:1: tools.set: must be a string, not a number (1)`},
		{"tools:\n", `FILE:1: tools: must be an object, not null; remove the key to have its default`},
		{"- a\n", `FILE:1: must be an object, not a list`},
		{"a: [\n", `FILE:1: this is not YAML: did not find expected node content`},
		{"{}\n---\n{}\n", `FILE:2: a second YAML document starts here, and only one is read`},
		{"? {a: 1}\n: b\n", `FILE:1: a key must be a plain name`},
		{"a: &a {set: all}\ntools:\n  <<: *a\n", `FILE:3: merge keys (<<) are not supported; write the keys out`},
		{"tools: !!set {sett}\n", `FILE:1: tools.sett: unknown key; the nearest known key is tools.set`},
		{"a: !!binary aGk=\n", `FILE:1: the tag !!binary is not supported`},
		{"a: &a [*a]\n", `FILE:1: nested more than 64 levels deep`},
		{"tools: {exec: {timeout_seconds: 0xffffffffffffffff}}\n",
			`FILE:1: "0xffffffffffffffff" is not a whole number that fits in 64 bits`},
		{strings.Repeat("[", 1000), `FILE:1: this is not YAML: did not find expected node content`},
		{strings.Repeat("[", 1000) + strings.Repeat("]", 1000), `FILE:1: nested more than 64 levels deep`},
		{bomb(), `FILE:3: more than 100000 values after expansion of aliases`},
	} {
		checkFault(t, "config.yaml", fault.text, fault.want)
	}
}

// bomb is a small document that unfolds to 10^9 values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 x\n")
	for i := range 9 {
		from, to := string(rune('0'+i)), string(rune('1'+i))
		b.WriteString("a" + to + ": &a" + to + " [" + strings.Repeat("*a"+from+",", 10) + "]\n")
	}
	return b.String()
}

func checkFault(t *testing.T, name, text, want string) {
	t.Helper()
	i := newInstance(t)
	i.write(name, text)
	_, err := i.load()
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	if err == nil {
		t.Errorf("%s: no error; want %s", text, want)
		return
	}
	if got := strings.ReplaceAll(err.Error(), i.path(name), "FILE"); got != want {
		t.Errorf("%s:\n got %s\nwant %s", text, got, want)
	}
	var typed *Error
	if !errors.As(err, &typed) {
		t.Errorf("%s: the error is a %T", text, err)
	}
}

func TestEmptyYAMLHasDefaults(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "null\n", "{}\n"} {
		i := newInstance(t)
		i.write("config.yaml", text)
		if _, err := i.load(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
