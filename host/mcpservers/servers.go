// Package mcpservers makes plugins of MCP servers. It parses the server's command line, fetches its package, asks the
// server in a sandbox for its tools, and writes the package that the store installs: a manifest with these tools,
// which picoclaw's plugin mcp serves.
//
// A server's description of itself is untrusted. It is validated, limited and shown, but decides neither grants nor
// the guarding of arguments. The package must not know how a plugin is started or how a person is asked.
package mcpservers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/tailscale/hujson"

	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ServerSpec is the operator's definition of an MCP server.
type ServerSpec struct {
	Command   []string          `json:"command,omitempty"` // program and arguments
	Env       map[string]string `json:"env,omitempty"`
	URL       string            `json:"url,omitempty"` // instead of a command, for a server over HTTP
	Headers   map[string]string `json:"headers,omitempty"`
	Files     string            `json:"files,omitempty"`     // directory that the command needs; it is copied
	Workspace string            `json:"workspace,omitempty"` // "none", "ro" or "rw"
	Network   []string          `json:"network,omitempty"`   // reachable hosts; "*" for any
	Secrets   []string          `json:"secrets,omitempty"`
	Programs  []string          `json:"programs,omitempty"` // programs that it may start in addition to its own
	Roots     bool              `json:"roots,omitempty"`    // send the workspace as a root
	Browser   bool              `json:"browser,omitempty"`  // start this machine's Chromium, which needs any program
	Claims    map[string]string `json:"claims,omitempty"`   // claim or "none", by "tool.field"
	Agents    []string          `json:"agents,omitempty"`   // the only agents that may use it

	IgnoreScripts bool `json:"ignore_scripts,omitempty"` // run no install scripts of npm packages
}

// secretVariable matches a placeholder of a secret in a header.
var secretVariable = lazyregexp.New(`\$\{([^}]*)\}`)

// SourceForDisplay returns the server's command line or URL for display.
func (s *ServerSpec) SourceForDisplay() string {
	if s.URL != "" {
		return s.URL
	}
	return strings.Join(s.Command, " ")
}

// Validate returns an error if the spec is invalid.
func (s *ServerSpec) Validate() error {
	switch {
	case s.URL == "" && len(s.Command) == 0:
		return fmt.Errorf("the server has neither a command nor a URL; write the command behind --, or give --url")
	case s.URL != "" && len(s.Command) > 0:
		return fmt.Errorf("the server has both a command and a URL; give one")
	case !slices.Contains([]string{"", "none", "ro", "rw"}, s.Workspace):
		return fmt.Errorf("workspace %q: want none, ro or rw", s.Workspace)
	}
	for _, at := range slices.Sorted(maps.Keys(s.Claims)) {
		if claim := s.Claims[at]; claim != noClaim && !pluginpb.ArgumentClaim(claim).IsValid() {
			return fmt.Errorf("the claim %q for %s: want read, write, list, delete, command, cwd, stdin, env or none", claim, at)
		}
		if !strings.Contains(at, ".") {
			return fmt.Errorf("the claim for %q: want TOOL.FIELD, such as read_file.path", at)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		for _, found := range secretVariable().FindAllStringSubmatch(s.Headers[name], -1) {
			if !slices.Contains(s.Secrets, found[1]) {
				return fmt.Errorf("the header %s names the secret %s, which is not granted; grant it with --secret %s", name, found[1],
					found[1])
			}
		}
	}
	if s.URL == "" {
		return nil
	}
	if s.Files != "" || len(s.Programs) > 0 {
		return fmt.Errorf("a server at a URL has neither files nor programs here; leave out --files and --program")
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return fmt.Errorf("%q is not the URL of a server, such as https://mcp.example.com/mcp", s.URL)
	}
	return nil
}

// allowedHosts returns the hosts that the server may reach.
func (s *ServerSpec) allowedHosts() []string {
	if s.URL == "" {
		return s.Network
	}
	entry, _, err := egress.FormatURLEntry(s.URL)
	if err != nil {
		return nil
	}
	return append([]string{entry}, s.Network...)
}

// buildGrants returns the permissions of the server. programs are the programs that its command needs.
func (s *ServerSpec) buildGrants(programs []string) pluginpb.Grant {
	g := pluginpb.Grant{
		Workspace: s.Workspace, State: true, Exec: s.URL == "", Secrets: s.Secrets, Network: len(s.allowedHosts()) > 0,
		Takeback: s.Workspace == pluginpb.ReadWriteWorkspace && s.URL == "",
	}
	g.Workspace = cmp.Or(g.Workspace, pluginpb.NoWorkspace)
	if g.Exec && !s.Browser && !slices.Contains(s.Programs, "*") {
		g.Programs = slices.Compact(slices.Sorted(slices.Values(append(programs, s.Programs...))))
	}
	if !slices.Contains(s.Network, "*") {
		g.Hosts = slices.Compact(slices.Sorted(slices.Values(s.allowedHosts())))
	}
	return g
}

// ServerInfo is a server's description of itself.
type ServerInfo struct {
	Name         string                `json:"name"`
	Title        string                `json:"title"`
	Version      string                `json:"version"`
	Instructions string                `json:"instructions"`
	Tools        map[string]ListedTool `json:"tools"` // by the server's names
}

// ListedTool is a tool as its server describes it.
type ListedTool struct {
	Tool ToolDescription `json:"tool"`
	Hash string          `json:"hash"` // hash of the description, computed by the plugin
	Kind string          `json:"kind"` // empty for a tool, or such as [pluginpb.ResourceKind]
}

// ToolDescription is a server's description of a tool.
type ToolDescription struct {
	Name        string         `json:"name"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Input       map[string]any `json:"inputSchema"`
	Output      map[string]any `json:"outputSchema"`
	URI         string         `json:"uri"`         // of a resource
	URITemplate string         `json:"uriTemplate"` // of several resources
	MediaType   string         `json:"mimeType"`
	Arguments   []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Required    bool   `json:"required"`
	} `json:"arguments"` // of a prompt
	Annotations struct {
		Title       string `json:"title"`
		ReadOnly    bool   `json:"readOnlyHint"`
		Destructive *bool  `json:"destructiveHint"`
		Idempotent  bool   `json:"idempotentHint"`
		OpenWorld   *bool  `json:"openWorldHint"`
	} `json:"annotations"`
}

// serverDefinition is the content of server.json. Asked and Package are kept for later updates of the package.
type serverDefinition struct {
	Command []string                          `json:"command,omitempty"`
	Env     map[string]string                 `json:"env,omitempty"`
	URL     string                            `json:"url,omitempty"`
	Headers map[string]string                 `json:"headers,omitempty"`
	Roots   bool                              `json:"roots,omitempty"`
	Tools   map[string]acceptedToolDefinition `json:"tools"`
	Asked   *ServerSpec                       `json:"asked"`
	Package string                            `json:"package,omitempty"` // fetched package with its version
}

// acceptedToolDefinition identifies a tool definition that the operator accepted.
type acceptedToolDefinition struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
}

// DefinitionFile is the name of the file that only packages of servers have.
const DefinitionFile = "server.json"

// ParseDefinition parses a package's server.json. It returns the operator's spec, the fetched package with its
// version, and the map from picoclaw's tool names to the server's.
func ParseDefinition(text []byte) (spec *ServerSpec, fetched string, names map[string]string, err error) {
	d, err := decodeDefinition(text)
	if err != nil {
		return nil, "", nil, err
	}
	names = map[string]string{}
	for here, pin := range d.Tools {
		names[here] = pin.Name
	}
	return d.Asked, d.Package, names, nil
}

func decodeDefinition(text []byte) (*serverDefinition, error) {
	d := &serverDefinition{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s: %w", DefinitionFile, err)
	}
	if d.Asked == nil {
		return nil, fmt.Errorf("%s has no server spec", DefinitionFile)
	}
	return d, nil
}

// FormatSpecDiff returns a unified diff of two specs; empty if they are equal.
func FormatSpecDiff(name string, old, new ServerSpec) (string, error) {
	var texts [2]string
	for i, s := range []ServerSpec{old, new} {
		s.Workspace = cmp.Or(s.Workspace, pluginpb.NoWorkspace)
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return "", err
		}
		texts[i] = string(text) + "\n"
	}
	return udiff.Unified(name+" as it was asked for", name+" as it is asked for now", texts[0], texts[1]), nil
}

// shortHash returns the first 8 hex digits of a text's hash.
func shortHash(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text))[:8] }

// ParseClientConfig returns the enabled servers in the settings of an MCP client by name. failed has the errors of servers
// that can't be imported.
func ParseClientConfig(text []byte) (servers map[string]ServerSpec, failed map[string]error, err error) {
	standard, err := hujson.Standardize(bytes.TrimPrefix(text, []byte("\ufeff"))) // editors on Windows write a byte order mark
	if err != nil {
		return nil, nil, err
	}
	type entry struct {
		Command  json.RawMessage   `json:"command"`
		Args     []string          `json:"args"`
		Env      map[string]string `json:"env"`
		URL      string            `json:"url"`
		HTTPURL  string            `json:"httpUrl"`
		Disabled bool              `json:"disabled"`
		Headers  map[string]string `json:"headers"`
	}
	var settings struct {
		MCPServers map[string]entry `json:"mcpServers"`
		Servers    map[string]entry `json:"servers"`
		Context    map[string]entry `json:"context_servers"`
	}
	if err := json.Unmarshal(standard, &settings); err != nil {
		return nil, nil, err
	}
	servers, failed = map[string]ServerSpec{}, map[string]error{}
	for _, all := range []map[string]entry{settings.MCPServers, settings.Servers, settings.Context} {
		for name, e := range all {
			if e.Disabled {
				continue
			}
			spec := ServerSpec{Env: e.Env, URL: cmp.Or(e.URL, e.HTTPURL), Headers: e.Headers}
			var program string
			if len(e.Command) > 0 && json.Unmarshal(e.Command, &program) != nil {
				if err := json.Unmarshal(e.Command, &spec.Command); err != nil {
					return nil, nil, fmt.Errorf("server %q: its command is neither a string nor a list of strings", name)
				}
			} else if program != "" {
				spec.Command = []string{program}
			}
			spec.Command = append(spec.Command, e.Args...)
			id := strings.Trim(notInNames().ReplaceAllString(strings.ToLower(name), "_"), "_")
			if _, twice := servers[id]; twice || failed[id] != nil {
				return nil, nil, fmt.Errorf("two servers would be called %s; rename one", id)
			}
			if err := spec.replaceClientVariables(); err != nil {
				failed[id] = err
				continue
			}
			servers[id] = spec
		}
	}
	if len(servers)+len(failed) == 0 {
		return nil, nil, errors.New(`it has no enabled servers under "mcpServers" or "servers"`)
	}
	return servers, failed, nil
}

// replaceClientVariables replaces the client's variables by picoclaw's placeholders. It returns an error for other
// variables.
func (s *ServerSpec) replaceClientVariables() error {
	replace := func(text string) (string, error) {
		text = strings.NewReplacer("${workspaceFolder}", "{{workspace}}", "${workspaceRoot}", "{{workspace}}").Replace(text)
		if found := secretVariable().FindString(text); found != "" {
			return "", fmt.Errorf("the client's variable %s is not supported; add the server by `picoclaw mcp add` with the value, or with --secret for a secret", found)
		}
		return text, nil
	}
	var err error
	if s.URL, err = replace(s.URL); err != nil {
		return err
	}
	for i := range s.Command {
		if s.Command[i], err = replace(s.Command[i]); err != nil {
			return err
		}
	}
	for _, texts := range []map[string]string{s.Env, s.Headers} {
		for name := range texts {
			if texts[name], err = replace(texts[name]); err != nil {
				return err
			}
		}
	}
	return nil
}
