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

// Server is an MCP server as scripts read it.
type Server struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	State   string            `json:"state"` // ok, changed, waiting or broken
	Why     string            `json:"why,omitempty"`
	Server  string            `json:"server"`
	Package string            `json:"package,omitempty"`
	Agents  []string          `json:"agents,omitempty"` // the only ones that it is for
	Granted *pluginpb.Grant   `json:"granted"`
	Tools   map[string]string `json:"tools"`          // the server's names by ours
	Diff    string            `json:"diff,omitempty"` // what is different from what was accepted
}

// Servers lists the MCP servers that were added, sorted by name.
func (s *Inventory) Servers() []Server {
	all := []Server{}
	for _, id := range slices.Sorted(maps.Keys(s.Lock.Plugins)) {
		if pin := s.Lock.Plugins[id]; pin.Files[mcpservers.DefinitionFile] != "" {
			all = append(all, s.server(id, pin))
		}
	}
	declared := s.Config.MCPServers()
	for _, problem := range s.Catalog.Problems() {
		server, is := declared[problem.Plugin]
		i := slices.IndexFunc(all, func(one Server) bool { return one.Name == problem.Plugin })
		switch {
		case i >= 0:
			all[i].State, all[i].Why = Broken, problem.Err.Error()
			if is {
				all[i].State = "changed"
			}
		case is:
			spec := DeclaredSpec(server)
			all = append(all, Server{Name: problem.Plugin, State: "untrusted", Why: problem.Err.Error(),
				Server: spec.DisplaySource(), Agents: spec.Agents})
		}
	}
	slices.SortFunc(all, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (s *Inventory) server(id string, pin *store.Pin) Server {
	out := Server{
		Name: id, Version: pin.Version, State: "ok", Server: pin.Source, Agents: pin.Agents, Granted: &pin.Grants,
	}
	fail := func(err error) Server {
		out.State, out.Why = Broken, err.Error()
		return out
	}
	text, err := s.Store.ReadFile(id, pin, mcpservers.DefinitionFile)
	if err != nil {
		return fail(err)
	}
	spec, fetched, names, err := mcpservers.ParseDefinition(text)
	if err != nil {
		return fail(err)
	}
	out.Server, out.Package, out.Tools = spec.DisplaySource(), fetched, names
	old, err := s.Store.Manifest(id, pin)
	if err != nil {
		return fail(err)
	}
	if pin.Waiting != nil {
		next, err := s.Store.WaitingManifest(id, pin)
		if err != nil {
			return fail(err)
		}
		out.State, out.Why = "waiting", pin.Waiting.Version+" waits for your yes"
		if out.Diff, err = store.Diff(old, next); err != nil {
			return fail(err)
		}
		asked, err := s.AskedDiff(id, pin)
		if err != nil {
			return fail(err)
		}
		out.Diff += asked
		return out
	}
	seen, noted := s.seen(id), session.ReadWithdrawals(s.Config.Home().Path, id, pin.Version)
	if seen == nil && len(noted) == 0 {
		return out
	}
	out.State, out.Why = "changed", "it describes tools in other words than those that were accepted"
	if len(noted) > 0 {
		out.Why += ": " + WithdrawnNames(noted)
	}
	if seen == nil {
		out.Why += "; what it says now can't be shown, as it is gone from its state directory, where the server itself " +
			"can remove it"
		return out
	}
	next, err := mcpservers.RebuildManifest(old, spec, fetched, seen)
	if err == nil {
		out.Diff, err = store.Diff(old, next)
	}
	if err != nil {
		out.Why += fmt.Sprintf("; they can't be shown: %v", err)
	}
	return out
}

// WithdrawnNames names tools that a plugin has taken back, each with the agent that has called it.
func WithdrawnNames(all []session.Withdrawal) string {
	var names []string
	for _, w := range all {
		names = append(names, fmt.Sprintf("%s (agent %s)", w.Tool, w.Agent))
	}
	return strings.Join(names, ", ")
}

// mostSeen is how much of what a server was seen to offer is read, in bytes. Whatever runs as the server can write it.
const mostSeen = 1 << 20

// seen is what a server was seen to offer in place of what was accepted; nil if it was not.
func (s *Inventory) seen(id string) []byte {
	for _, agent := range s.Config.AgentIDs() {
		root, err := os.OpenRoot(filepath.Join(session.StateDir(s.Config.Home().Path, id), agent))
		if err != nil {
			continue
		}
		info, err := root.Lstat(mcpservers.CurrentToolsFile)
		var text []byte
		if err == nil && info.Mode().IsRegular() && info.Size() <= mostSeen {
			text, err = root.ReadFile(mcpservers.CurrentToolsFile)
		}
		_ = root.Close()
		if err == nil && json.Valid(text) {
			return text
		}
	}
	return nil
}

// Asked is what was asked for when a server was added.
func (s *Inventory) Asked(name string, pin *store.Pin) (mcpservers.ServerSpec, error) {
	text, err := s.Store.ReadFile(name, pin, mcpservers.DefinitionFile)
	if err != nil {
		return mcpservers.ServerSpec{}, err
	}
	asked, _, _, err := mcpservers.ParseDefinition(text)
	if err != nil {
		return mcpservers.ServerSpec{}, err
	}
	return *asked, nil
}

// AskedDiff is what is different in what was asked for when the version that waits was made; empty for what is no
// server.
func (s *Inventory) AskedDiff(name string, pin *store.Pin) (string, error) {
	next := &store.Pin{Version: pin.Waiting.Version, Files: pin.Waiting.Files}
	if pin.Files[mcpservers.DefinitionFile] == "" || next.Files[mcpservers.DefinitionFile] == "" {
		return "", nil
	}
	before, err := s.Asked(name, pin)
	if err != nil {
		return "", err
	}
	now, err := s.Asked(name, next)
	if err != nil {
		return "", err
	}
	return mcpservers.DiffSpecs(name, before, now)
}

// DeclaredSpec is what the configuration says of a server.
func DeclaredSpec(c config.MCPServer) mcpservers.ServerSpec {
	s := mcpservers.ServerSpec{
		Env: c.Env, URL: c.URL, Headers: c.Headers, Files: c.Files, Workspace: c.Workspace, Network: c.Network,
		Secrets: c.Secrets, Programs: c.Programs, Roots: c.Roots, Claims: c.Claims, Agents: c.Agents,
	}
	if c.Command != "" {
		s.Command = append([]string{c.Command}, c.Args...)
	}
	return s
}
