package inventory

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/mcpservers"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ServerInfo describes an MCP server in JSON output.
type ServerInfo struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	State   string            `json:"state"` // ok, changed, waiting or broken
	Why     string            `json:"why,omitempty"`
	Server  string            `json:"server"`
	Package string            `json:"package,omitempty"`
	Agents  []string          `json:"agents,omitempty"` // all if empty
	Granted *pluginpb.Grant   `json:"granted"`
	Tools   map[string]string `json:"tools"`          // the server's names by picoclaw's names
	Diff    string            `json:"diff,omitempty"` // changes since approval
}

// ListServers describes the installed MCP servers, sorted by name.
func (s *Inventory) ListServers() []ServerInfo {
	all := []ServerInfo{}
	for _, id := range slices.Sorted(maps.Keys(s.Lock.Plugins)) {
		if pin := s.Lock.Plugins[id]; pin.Files[mcpservers.DefinitionFile] != "" {
			all = append(all, s.newServerInfo(id, pin))
		}
	}
	declared := s.Config.MCPServers()
	for _, problem := range s.Catalog.Problems() {
		server, is := declared[problem.Plugin]
		i := slices.IndexFunc(all, func(one ServerInfo) bool { return one.Name == problem.Plugin })
		switch {
		case i >= 0:
			all[i].State, all[i].Why = BrokenState, problem.Err.Error()
			if is {
				all[i].State = "changed"
			}
		case is:
			spec := SpecFromConfig(server)
			all = append(all, ServerInfo{Name: problem.Plugin, State: "untrusted", Why: problem.Err.Error(),
				Server: spec.SourceForDisplay(), Agents: spec.Agents})
		}
	}
	slices.SortFunc(all, func(a, b ServerInfo) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (s *Inventory) newServerInfo(id string, pin *store.InstalledPlugin) ServerInfo {
	out := ServerInfo{
		Name: id, Version: pin.Version, State: "ok", Server: pin.Source, Agents: pin.Agents, Granted: &pin.Grants,
	}
	fail := func(err error) ServerInfo {
		out.State, out.Why = BrokenState, err.Error()
		return out
	}
	text, err := s.Store.ReadVerifiedFile(id, &pin.PluginVersion, mcpservers.DefinitionFile)
	if err != nil {
		return fail(err)
	}
	spec, fetched, names, err := mcpservers.ParseDefinition(text)
	if err != nil {
		return fail(err)
	}
	out.Server, out.Package, out.Tools = spec.SourceForDisplay(), fetched, names
	old, err := s.Store.ReadManifest(id, &pin.PluginVersion)
	if err != nil {
		return fail(err)
	}
	if pin.Waiting != nil {
		next, readErr := s.Store.ReadManifest(id, pin.Waiting)
		if readErr != nil {
			return fail(readErr)
		}
		out.State, out.Why = "waiting", pin.Waiting.Version+" needs your approval"
		if out.Diff, readErr = store.FormatManifestDiff(old, next); readErr != nil {
			return fail(readErr)
		}
		asked, readErr := s.SpecDiff(id, pin)
		if readErr != nil {
			return fail(readErr)
		}
		out.Diff += asked
		return out
	}
	seen, noted := s.readUnacceptedTools(id), session.ReadToolWithdrawals(s.Config.Home().Path, id, pin.Version)
	if seen == nil && len(noted) == 0 {
		return out
	}
	out.State, out.Why = "changed", "it describes tools in other words than those that were accepted"
	if len(noted) > 0 {
		out.Why += ": " + FormatQuarantinedTools(noted)
	}
	if seen == nil {
		out.Why += "; its current definition can't be shown: it is missing from its state directory, where the server " +
			"can remove it"
		return out
	}
	next, err := mcpservers.RebuildManifest(old, spec, fetched, seen)
	if err == nil {
		out.Diff, err = store.FormatManifestDiff(old, next)
	}
	if err != nil {
		out.Why += fmt.Sprintf("; they can't be shown: %v", err)
	}
	return out
}

// FormatQuarantinedTools returns quarantined tools as text, each with the agent that called it.
func FormatQuarantinedTools(all []session.ToolWithdrawal) string {
	var names []string
	for _, w := range all {
		names = append(names, fmt.Sprintf("%s (agent %s)", w.Tool, w.Agent))
	}
	return strings.Join(names, ", ")
}

// maxObservedBytes limits the file with a server's current tools, which the server's process can write.
const maxObservedBytes = 1 << 20

// readUnacceptedTools returns a server's current tools as JSON, if they differ from the accepted ones; else nil.
func (s *Inventory) readUnacceptedTools(id string) []byte {
	for _, agent := range s.Config.AgentIDs() {
		root, err := os.OpenRoot(filepath.Join(session.PluginStateDir(s.Config.Home().Path, id), agent))
		if err != nil {
			continue
		}
		info, err := root.Lstat(mcpservers.CurrentToolsFile)
		var text []byte
		if err == nil && info.Mode().IsRegular() && info.Size() <= maxObservedBytes {
			text, err = root.ReadFile(mcpservers.CurrentToolsFile)
		}
		_ = root.Close()
		if err == nil && json.Valid(text) {
			return text
		}
	}
	return nil
}

// ApprovedSpec returns the settings with which the operator added a server.
func (s *Inventory) ApprovedSpec(name string, v *store.PluginVersion) (mcpservers.ServerSpec, error) {
	text, err := s.Store.ReadVerifiedFile(name, v, mcpservers.DefinitionFile)
	if err != nil {
		return mcpservers.ServerSpec{}, err
	}
	asked, _, _, err := mcpservers.ParseDefinition(text)
	if err != nil {
		return mcpservers.ServerSpec{}, err
	}
	return *asked, nil
}

// SpecDiff returns the difference between the settings of a server's active version and of the version that waits for
// approval; empty for plugins that are no servers.
func (s *Inventory) SpecDiff(name string, pin *store.InstalledPlugin) (string, error) {
	if pin.Files[mcpservers.DefinitionFile] == "" || pin.Waiting.Files[mcpservers.DefinitionFile] == "" {
		return "", nil
	}
	before, err := s.ApprovedSpec(name, &pin.PluginVersion)
	if err != nil {
		return "", err
	}
	now, err := s.ApprovedSpec(name, pin.Waiting)
	if err != nil {
		return "", err
	}
	return mcpservers.FormatSpecDiff(name, before, now)
}

// SpecFromConfig converts a server's section in the configuration.
func SpecFromConfig(c config.MCPServer) mcpservers.ServerSpec {
	s := mcpservers.ServerSpec{
		Env: c.Env, URL: c.URL, Headers: c.Headers, Files: c.Files, Workspace: c.Workspace, Network: c.Network,
		Secrets: c.Secrets, Programs: c.Programs, Roots: c.Roots, Claims: c.Claims, Agents: c.Agents,
	}
	if c.Command != "" {
		s.Command = append([]string{c.Command}, c.Args...)
	}
	return s
}
