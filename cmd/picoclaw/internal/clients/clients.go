// Package clients knows the settings files of MCP clients and adds picoclaw's entry to them. Everything else in a
// file stays unchanged: other settings, comments, order and layout.
//
// It must not know the server, and makes no network connections.
package clients

import (
	"errors"
	"fmt"
	"path/filepath"
)

// ServerEntry is an MCP server entry: the command with which a client starts the server on standard input and output.
type ServerEntry struct {
	Name    string // in the client's settings
	Command string // absolute path
	Args    []string
	Env     map[string]string // additional variables
}

// ClientProgram is an MCP client, with the location and format of its settings.
type ClientProgram struct {
	ID    string // for the command line
	Title string
	Note  string // sentence for the user; may be empty

	kind  fileFormat
	keys  []string                         // key of the servers in the file
	entry func(ServerEntry) []entryField   // the client's settings of a server, in order
	file  func(p UserEnvironment) []string // possible paths of the file

	Program     string              // for picoclaw run; empty if it is no program for a terminal
	HookClient  string              // for picoclaw hook
	hooks       listSettingLocation // hooks that it runs before calls of its tools
	hookMatcher string
	hookTimeout int // in the client's unit
	denied      listSettingLocation
	ownTools    []any
}

// fileFormat is the format of a client's settings file.
type fileFormat int

const (
	jsonFormat fileFormat = iota
	tomlFormat
)

// entryField is a key with its value in a server's entry.
type entryField struct {
	key   string
	value any // string, bool, []string or map[string]string
}

// UserEnvironment is the system, home directory and environment variables that determine the paths of settings files.
type UserEnvironment struct {
	OS     string // as runtime.GOOS
	Home   string
	Getenv func(string) string
}

// homePath returns a path below the home directory.
func (p UserEnvironment) homePath(parts ...string) string {
	return filepath.Join(append([]string{p.Home}, parts...)...)
}

// configPath returns a path below the system's directory for settings, such as ~/Library/Application Support.
func (p UserEnvironment) configPath(parts ...string) string {
	switch p.OS {
	case "darwin":
		return p.homePath(append([]string{"Library", "Application Support"}, parts...)...)
	case "windows":
		return filepath.Join(append([]string{p.Getenv("APPDATA")}, parts...)...)
	}
	return p.xdgConfigPath(parts...)
}

// xdgConfigPath returns a path below XDG_CONFIG_HOME or ~/.config, for programs that use this directory on all systems.
func (p UserEnvironment) xdgConfigPath(parts ...string) string {
	return p.pathBelowVariable("XDG_CONFIG_HOME", p.homePath(".config"), parts...)
}

// pathBelowVariable returns a path below the directory in an environment variable, or else below other.
func (p UserEnvironment) pathBelowVariable(variable, other string, parts ...string) string {
	base := p.Getenv(variable)
	if !filepath.IsAbs(base) {
		base = other
	}
	return filepath.Join(append([]string{base}, parts...)...)
}

// AllClients returns the supported clients.
func AllClients() []ClientProgram {
	plain := []string{"mcpServers"}
	return []ClientProgram{
		{ID: "claude-code", Title: "Claude Code", keys: plain, entry: typedEntry, Program: "claude", HookClient: "claude",
			hooks: listSettingLocation{".claude/settings.local.json", "hooks.PreToolUse"}, hookMatcher: "*", hookTimeout: 60,
			denied:   listSettingLocation{".claude/settings.local.json", "permissions.deny"},
			ownTools: []any{"Bash", "Edit", "MultiEdit", "NotebookEdit", "Write"},
			Note:     "Claude Code writes to this file: close it first.",
			file: func(p UserEnvironment) []string {
				return []string{p.pathBelowVariable("CLAUDE_CONFIG_DIR", p.Home, ".claude.json")}
			}},
		{ID: "claude-desktop", Title: "Claude Desktop", keys: plain, entry: plainEntry,
			Note: "Start Claude Desktop again afterwards.",
			file: func(p UserEnvironment) []string {
				return []string{p.configPath("Claude", "claude_desktop_config.json")}
			}},
		{ID: "cursor", Title: "Cursor", keys: plain, entry: plainEntry,
			file: func(p UserEnvironment) []string { return []string{p.homePath(".cursor", "mcp.json")} }},
		{ID: "vscode", Title: "VS Code", keys: []string{"servers"}, entry: typedEntry,
			file: func(p UserEnvironment) []string { return []string{p.configPath("Code", "User", "mcp.json")} }},
		{ID: "codex", Title: "Codex", Program: "codex", kind: tomlFormat, keys: []string{"mcp_servers"}, entry: plainEntry,
			file: func(p UserEnvironment) []string {
				return []string{p.pathBelowVariable("CODEX_HOME", p.homePath(".codex"), "config.toml")}
			}},
		{ID: "gemini", Title: "Gemini CLI", keys: plain, entry: plainEntry, Program: "gemini", HookClient: "gemini",
			hooks: listSettingLocation{".gemini/settings.json", "hooks.BeforeTool"}, hookMatcher: ".*", hookTimeout: 60_000,
			file: func(p UserEnvironment) []string { return []string{p.homePath(".gemini", "settings.json")} }},
		{ID: "opencode", Title: "OpenCode", Program: "opencode", keys: []string{"mcp"}, entry: openCodeEntry,
			file: func(p UserEnvironment) []string {
				return []string{p.xdgConfigPath("opencode", "opencode.jsonc"), p.xdgConfigPath("opencode", "opencode.json")}
			}},
		{ID: "zed", Title: "Zed", keys: []string{"context_servers"}, entry: zedEntry,
			file: func(p UserEnvironment) []string {
				if p.OS == "windows" {
					return []string{p.configPath("Zed", "settings.json")}
				}
				return []string{p.xdgConfigPath("zed", "settings.json")}
			}},
	}
}

// plainEntry returns an entry with command, args and env.
func plainEntry(s ServerEntry) []entryField {
	return appendEnv([]entryField{{"command", s.Command}, {"args", s.Args}}, "env", s.Env)
}

// typedEntry returns a plain entry with type stdio.
func typedEntry(s ServerEntry) []entryField {
	return append([]entryField{{"type", "stdio"}}, plainEntry(s)...)
}

func zedEntry(s ServerEntry) []entryField {
	return append([]entryField{{"source", "custom"}}, plainEntry(s)...)
}

func openCodeEntry(s ServerEntry) []entryField {
	command := append([]string{s.Command}, s.Args...)
	return appendEnv([]entryField{{"type", "local"}, {"command", command}, {"enabled", true}}, "environment", s.Env)
}

// appendEnv appends a field with environment variables, if there are any.
func appendEnv(entry []entryField, key string, env map[string]string) []entryField {
	if len(env) == 0 {
		return entry
	}
	return append(entry, entryField{key, env})
}

// SettingsSnippet returns a settings file with nothing but the entry of a server, to copy from.
func (c ClientProgram) SettingsSnippet(s ServerEntry) (string, error) {
	text, err := c.AddServerToText(nil, s)
	return string(text), err
}

// AddServerToText returns the text of a settings file with the entry of a server added or updated. Other fields of an
// existing entry stay. Text that needs no change is returned as it is.
func (c ClientProgram) AddServerToText(text []byte, s ServerEntry) ([]byte, error) {
	if len(text) > maxSettingsBytes {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxSettingsBytes)
	}
	where := append(append([]string{}, c.keys...), s.Name)
	if c.kind == tomlFormat {
		return setTOMLFields(text, where, c.entry(s))
	}
	return setJSONFields(text, where, c.entry(s))
}

// maxSettingsBytes is the maximum size of a settings file.
const maxSettingsBytes = 32 << 20

// errNotEditable is the cause of errors about settings files that can't be edited safely.
var errNotEditable = errors.New("it is not changed; paste the entry by hand")
