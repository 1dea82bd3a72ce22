// Package mcpservers makes plugins of MCP servers: it finds out what a command line starts, fetches what that takes, has
// the server say in a sandbox which tools it has, and writes the package that the store installs: a manifest of these
// tools, which picoclaw's own plugin mcp offers.
//
// What a server says is a stranger's text. It is checked, bounded and shown; nothing that it says of itself decides
// what it is granted or how its arguments are guarded. The package must not know how a plugin is started or how a
// person is asked.
package mcpservers

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Spec is what an operator says of a server.
type Spec struct {
	Command   []string          `json:"command,omitempty"` // the program and its arguments, as for a shell
	Env       map[string]string `json:"env,omitempty"`
	URL       string            `json:"url,omitempty"` // in place of a command: where it is reached over HTTP
	Headers   map[string]string `json:"headers,omitempty"`
	Files     string            `json:"files,omitempty"`     // a directory that the command needs, which is copied
	Workspace string            `json:"workspace,omitempty"` // "none", "ro" or "rw"
	Network   []string          `json:"network,omitempty"`   // the hosts that it may reach, "*" for any
	Secrets   []string          `json:"secrets,omitempty"`
	Programs  []string          `json:"programs,omitempty"` // that it may start besides its own
	Roots     bool              `json:"roots,omitempty"`    // tell it of the workspace
	Claims    map[string]string `json:"claims,omitempty"`   // by "tool.field": a claim, or "none"
	Agents    []string          `json:"agents,omitempty"`   // the only ones that it is for
}

// variable is a place for a secret in a header.
var variable = lazyregexp.New(`\$\{([^}]*)\}`)

// Source is the command line or URL, for people.
func (s *Spec) Source() string {
	if s.URL != "" {
		return s.URL
	}
	return strings.Join(s.Command, " ")
}

// Check says what is wrong with a spec, if anything is.
func (s *Spec) Check() error {
	switch {
	case s.URL == "" && len(s.Command) == 0:
		return fmt.Errorf("the server has neither a command nor a URL; write the command behind --, or give --url")
	case s.URL != "" && len(s.Command) > 0:
		return fmt.Errorf("the server has both a command and a URL; give one")
	case !slices.Contains([]string{"", "none", "ro", "rw"}, s.Workspace):
		return fmt.Errorf("workspace %q: want none, ro or rw", s.Workspace)
	}
	for _, at := range slices.Sorted(maps.Keys(s.Claims)) {
		if claim := s.Claims[at]; claim != noClaim && !pluginpb.Claim(claim).Valid() {
			return fmt.Errorf("the claim %q for %s: want read, write, list, delete, command, cwd, stdin, env or none", claim, at)
		}
		if !strings.Contains(at, ".") {
			return fmt.Errorf("the claim for %q: want TOOL.FIELD, such as read_file.path", at)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		for _, found := range variable().FindAllStringSubmatch(s.Headers[name], -1) {
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

// hosts are those that the server may reach.
func (s *Spec) hosts() []string {
	if s.URL == "" {
		return s.Network
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil
	}
	return append(entries(u), s.Network...)
}

// entries are those of network.allow for where a URL leads.
func entries(u *url.URL) []string {
	port := ""
	if u.Port() != "" {
		port = ":" + u.Port()
	}
	addr, err := netip.ParseAddr(u.Hostname())
	switch {
	case u.Hostname() == "localhost":
		return []string{"localhost" + port, "127.0.0.0/8" + port}
	case err == nil && addr.Is4():
		return []string{addr.String() + "/32" + port}
	case err == nil && port != "":
		return []string{"[" + addr.String() + "/128]" + port}
	case err == nil:
		return []string{addr.String() + "/128"}
	}
	return []string{u.Hostname() + port}
}

// grants are what the server is to be granted. programs are those that its command takes.
func (s *Spec) grants(programs []string) pluginpb.Grant {
	g := pluginpb.Grant{
		Workspace: s.Workspace, State: true, Exec: s.URL == "", Secrets: s.Secrets, Network: len(s.hosts()) > 0,
		Takeback: s.Workspace == pluginpb.ReadWriteWorkspace && s.URL == "",
	}
	if g.Workspace == "" {
		g.Workspace = pluginpb.NoWorkspace
	}
	if g.Exec && !slices.Contains(s.Programs, "*") {
		g.Programs = slices.Compact(slices.Sorted(slices.Values(append(programs, s.Programs...))))
	}
	if !slices.Contains(s.Network, "*") {
		g.Hosts = slices.Compact(slices.Sorted(slices.Values(s.hosts())))
	}
	return g
}

// Said is what a server says of itself.
type Said struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Version      string          `json:"version"`
	Instructions string          `json:"instructions"`
	Tools        map[string]Tool `json:"tools"` // by the server's names
}

// Tool is a tool as its server describes it.
type Tool struct {
	Tool Description `json:"tool"`
	Hash string      `json:"hash"` // of the description, as the plugin takes it
}

// Description is what a server says of a tool.
type Description struct {
	Name        string         `json:"name"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Input       map[string]any `json:"inputSchema"`
	Output      map[string]any `json:"outputSchema"`
	Annotations struct {
		Title       string `json:"title"`
		ReadOnly    bool   `json:"readOnlyHint"`
		Destructive *bool  `json:"destructiveHint"`
		Idempotent  bool   `json:"idempotentHint"`
		OpenWorld   *bool  `json:"openWorldHint"`
	} `json:"annotations"`
}

// definition is server.json, which the plugin reads. Asked is for those that make the package again.
type definition struct {
	Command []string          `json:"command,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Roots   bool              `json:"roots,omitempty"`
	Tools   map[string]pinned `json:"tools"`
	Asked   *Spec             `json:"asked"`
	Package string            `json:"package,omitempty"` // what was fetched, with its version
}

type pinned struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
}

// DefinitionFile is the name of the file in a package that tells a server from another plugin.
const DefinitionFile = "server.json"

// Parse reads a package's definition: what the operator has asked for, and what was fetched for it.
func Parse(text []byte) (spec *Spec, fetched string, names map[string]string, err error) {
	var d definition
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, "", nil, fmt.Errorf("%s: %w", DefinitionFile, err)
	}
	if d.Asked == nil {
		return nil, "", nil, fmt.Errorf("%s does not say what was asked for", DefinitionFile)
	}
	names = map[string]string{}
	for here, pin := range d.Tools {
		names[here] = pin.Name
	}
	return d.Asked, d.Package, names, nil
}

// DiffSpecs returns what is different in what an operator asks for, as a unified diff; empty if nothing is.
func DiffSpecs(name string, old, new Spec) (string, error) {
	var texts [2]string
	for i, s := range []Spec{old, new} {
		if s.Workspace == "" {
			s.Workspace = pluginpb.NoWorkspace
		}
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return "", err
		}
		texts[i] = string(text) + "\n"
	}
	return udiff.Unified(name+" as it was asked for", name+" as it is asked for now", texts[0], texts[1]), nil
}

// shortHash is the beginning of a text's hash.
func shortHash(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text))[:8] }
