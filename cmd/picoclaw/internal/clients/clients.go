// Package clients knows where MCP clients keep the servers they start, and writes an entry there so that everything
// else in the file stays as it is, byte for byte: other settings, comments, order and layout.
//
// It must not know what the server does, nor talk to anybody: it turns bytes into bytes, and replaces files.
package clients

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
)

// Server is how a client starts an MCP server on standard input and output.
type Server struct {
	Name    string // what the client calls it
	Command string // absolute path
	Args    []string
	Env     map[string]string // besides what the client passes on anyway
}

// Client is an MCP client.
type Client struct {
	ID    string // for the command line
	Title string
	Note  string // what its user has to know, if anything; a sentence

	kind  fileFormat
	keys  []string                    // where in the file the servers are, by name
	entry func(Server) []entrySetting // the client's settings of a server, in order
	file  func(p Places) []string     // where its file is, the first one that exists counting

	Program     string      // for picoclaw run; empty if it is no program for a terminal
	HookClient  string      // for picoclaw hook
	hooks       projectList // hooks that it runs before a call of its own tools
	hookMatcher string
	hookTimeout int // in the client's unit
	denied      projectList
	ownTools    []any
}

// fileFormat is the format of a client's file.
type fileFormat int

const (
	jsonFormat fileFormat = iota
	tomlFormat
)

// entrySetting is one key of an entry.
type entrySetting struct {
	key   string
	value any // string, bool, []string or map[string]string
}

// Places is where a person's files are.
type Places struct {
	OS     string // as runtime.GOOS
	Home   string
	Getenv func(string) string
}

// Here is the places of whoever runs this process.
func Here(home string, getenv func(string) string) Places {
	return Places{OS: runtime.GOOS, Home: home, Getenv: getenv}
}

func (p Places) homePath(parts ...string) string {
	return filepath.Join(append([]string{p.Home}, parts...)...)
}

// configPath returns a path in the directory of programs' settings.
func (p Places) configPath(parts ...string) string {
	base := p.Getenv("XDG_CONFIG_HOME")
	switch {
	case p.OS == "darwin":
		base = p.homePath("Library", "Application Support")
	case p.OS == "windows":
		base = p.Getenv("APPDATA")
	case !filepath.IsAbs(base):
		base = p.homePath(".config")
	}
	return filepath.Join(append([]string{base}, parts...)...)
}

// dotConfig is where programs keep their settings that do so in the same place everywhere.
func (p Places) dotConfig(parts ...string) string {
	if base := p.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(base) {
		return filepath.Join(append([]string{base}, parts...)...)
	}
	return p.homePath(append([]string{".config"}, parts...)...)
}

// variablePath returns a path in the directory a variable names, or else in another.
func (p Places) variablePath(variable, other string, parts ...string) string {
	base := p.Getenv(variable)
	if !filepath.IsAbs(base) {
		base = other
	}
	return filepath.Join(append([]string{base}, parts...)...)
}

// All returns the clients.
func All() []Client {
	plain := []string{"mcpServers"}
	return []Client{
		{ID: "claude-code", Title: "Claude Code", keys: plain, entry: typedEntry, Program: "claude", HookClient: "claude",
			hooks: projectList{".claude/settings.local.json", []string{"hooks", "PreToolUse"}}, hookMatcher: "*", hookTimeout: 60,
			denied:   projectList{".claude/settings.local.json", []string{"permissions", "deny"}},
			ownTools: []any{"Bash", "Edit", "MultiEdit", "NotebookEdit", "Write"},
			Note:     "Claude Code writes to this file: close it first.",
			file: func(p Places) []string {
				if p.Getenv("CLAUDE_CONFIG_DIR") != "" {
					return []string{p.variablePath("CLAUDE_CONFIG_DIR", p.Home, ".claude.json")}
				}
				return []string{p.homePath(".claude.json")}
			}},
		{ID: "claude-desktop", Title: "Claude Desktop", keys: plain, entry: plainEntry,
			Note: "Start Claude Desktop again afterwards.",
			file: func(p Places) []string { return []string{p.configPath("Claude", "claude_desktop_config.json")} }},
		{ID: "cursor", Title: "Cursor", keys: plain, entry: plainEntry,
			file: func(p Places) []string { return []string{p.homePath(".cursor", "mcp.json")} }},
		{ID: "vscode", Title: "VS Code", keys: []string{"servers"}, entry: typedEntry,
			file: func(p Places) []string { return []string{p.configPath("Code", "User", "mcp.json")} }},
		{ID: "codex", Title: "Codex", Program: "codex", kind: tomlFormat, keys: []string{"mcp_servers"}, entry: plainEntry,
			file: func(p Places) []string {
				return []string{p.variablePath("CODEX_HOME", p.homePath(".codex"), "config.toml")}
			}},
		{ID: "gemini", Title: "Gemini CLI", keys: plain, entry: plainEntry, Program: "gemini", HookClient: "gemini",
			hooks: projectList{".gemini/settings.json", []string{"hooks", "BeforeTool"}}, hookMatcher: ".*", hookTimeout: 60_000,
			file: func(p Places) []string { return []string{p.homePath(".gemini", "settings.json")} }},
		{ID: "opencode", Title: "OpenCode", Program: "opencode", keys: []string{"mcp"}, entry: openCodeEntry,
			file: func(p Places) []string {
				return []string{p.dotConfig("opencode", "opencode.jsonc"), p.dotConfig("opencode", "opencode.json")}
			}},
		{ID: "zed", Title: "Zed", keys: []string{"context_servers"}, entry: zedEntry,
			file: func(p Places) []string {
				if p.OS == "windows" {
					return []string{p.configPath("Zed", "settings.json")}
				}
				return []string{p.dotConfig("zed", "settings.json")}
			}},
	}
}

func plainEntry(s Server) []entrySetting {
	return withEnv([]entrySetting{{"command", s.Command}, {"args", s.Args}}, "env", s.Env)
}

func typedEntry(s Server) []entrySetting {
	return append([]entrySetting{{"type", "stdio"}}, plainEntry(s)...)
}

func zedEntry(s Server) []entrySetting {
	return append([]entrySetting{{"source", "custom"}}, plainEntry(s)...)
}

func openCodeEntry(s Server) []entrySetting {
	command := append([]string{s.Command}, s.Args...)
	return withEnv([]entrySetting{{"type", "local"}, {"command", command}, {"enabled", true}}, "environment", s.Env)
}

func withEnv(entry []entrySetting, key string, env map[string]string) []entrySetting {
	if len(env) == 0 {
		return entry
	}
	return append(entry, entrySetting{key, env})
}

// Snippet returns the entry as it is pasted into a file that has nothing else.
func (c Client) Snippet(s Server) (string, error) {
	text, err := c.Edit(nil, s)
	return string(text), err
}

// Edit returns a file's text with the entry of a server in it. One that is there already keeps what it has besides what
// is set here. A text that needs no change is returned as it is. An error says what is in the way.
func (c Client) Edit(text []byte, s Server) ([]byte, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxFile)
	}
	where := append(append([]string{}, c.keys...), s.Name)
	if c.kind == tomlFormat {
		return editTOML(text, where, c.entry(s))
	}
	return editJSON(text, where, c.entry(s))
}

// maxFile is more than any client's settings need.
const maxFile = 32 << 20

// errNotEditable is the cause of errors about a file that is written in a way that can't be edited safely.
var errNotEditable = errors.New("it is not changed; paste the entry by hand")
