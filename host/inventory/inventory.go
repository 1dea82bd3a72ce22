// Package inventory lists the plugins and MCP servers of a home with their state: granted, withdrawn, or waiting for
// approval.
//
// It must not know how the list is shown, nor how a plugin is installed or started.
package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Inventory lists the plugins and MCP servers of a host.
type Inventory struct {
	Config  *config.Config
	Store   *store.Store
	Catalog *catalog.Catalog
	Lock    *store.LockFile
}

// ReadInventory returns the inventory of a host. It starts no processes.
func ReadInventory(h *session.Host) (*Inventory, error) {
	s := &Inventory{Config: h.Config(), Store: store.NewStore(h.Config().Home().Path), Catalog: h.PluginCatalog()}
	var err error
	s.Lock, err = s.Store.ReadLockFile()
	return s, err
}

// PluginIDs returns the ids of all plugins, including plugins whose files are missing.
func (s *Inventory) PluginIDs() []string {
	var ids []string
	for _, p := range s.Catalog.Plugins() {
		ids = append(ids, p.Manifest.ID)
	}
	ids = slices.AppendSeq(ids, maps.Keys(s.Lock.Plugins))
	for _, id := range s.Config.PluginIDs() {
		if s.Config.Plugin(id).Dev != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// PluginInfo describes a plugin in JSON output.
type PluginInfo struct {
	ID      string               `json:"id"`
	Version string               `json:"version,omitempty"`
	Kind    catalog.PluginOrigin `json:"kind"`
	State   string               `json:"state"` // ok, disabled, crashed or broken
	Why     string               `json:"why,omitempty"`
	Waiting string               `json:"waiting,omitempty"` // version that waits for approval
	Doc     string               `json:"doc,omitempty"`
	Dir     string               `json:"dir,omitempty"`
	Source  string               `json:"source,omitempty"`
	Signer  string               `json:"signer,omitempty"`
	Asks    *pluginpb.Grant      `json:"asks,omitempty"`
	Granted *pluginpb.Grant      `json:"granted,omitempty"` // at install
	Tools   []ToolInfo           `json:"tools,omitempty"`
	Off     []store.DisableRule  `json:"off,omitempty"`
}

// BrokenState is the state of a plugin that can't be offered or started.
const BrokenState = "broken"

// ListPlugins describes all plugins, sorted by id.
func (s *Inventory) ListPlugins() []PluginInfo {
	byID := map[string]PluginInfo{}
	for _, p := range s.Catalog.Plugins() {
		byID[p.Manifest.ID] = s.newPluginInfo(p)
	}
	for _, problem := range s.Catalog.Problems() {
		for _, id := range s.PluginIDs() {
			p, known := byID[id]
			if problem.Plugin != id && (problem.Plugin != "" || known) {
				continue
			}
			dev := s.Config.Plugin(id).Dev
			if pin := s.Lock.Plugins[id]; !known && dev != "" {
				p = PluginInfo{ID: id, Kind: catalog.DevPlugin, Dir: dev}
			} else if !known && pin != nil {
				p = PluginInfo{ID: id, Version: pin.Version, Kind: catalog.InstalledPlugin, Dir: s.Store.VersionDir(id, pin.Version),
					Source: pin.Source}
			}
			p.State, p.Why = BrokenState, problem.Err.Error()
			byID[id] = p
		}
	}
	all := make([]PluginInfo, 0, len(byID))
	for _, id := range s.PluginIDs() {
		all = append(all, byID[id])
	}
	return all
}

func (s *Inventory) newPluginInfo(p *catalog.Plugin) PluginInfo {
	m := p.Manifest
	out := PluginInfo{ID: m.ID, Version: m.Version, Kind: p.Kind, State: "ok", Doc: m.Doc, Dir: p.Dir, Asks: &m.Grants}
	if pin := p.Pin; pin != nil {
		out.Source, out.Signer, out.Granted = pin.Source, pin.Signer, &pin.Grants
		if pin.Waiting != nil {
			out.Waiting = pin.Waiting.Version
		}
	}
	if c := s.Config.Plugin(m.ID); c.Granted {
		out.Granted = &c.Grants
	}
	for i := range p.Tools {
		out.Tools = append(out.Tools, NewToolInfos([]session.Tool{{Name: p.Tools[i].Spec.Name, Plugin: m.ID,
			Spec: p.Tools[i].Spec}})...)
	}
	for _, off := range s.Lock.Off {
		if off.MatchesPlugin(m.ID) {
			out.Off = append(out.Off, off)
			if off.Tool == "" && off.Agent == "" {
				out.State, out.Why = "disabled", "`picoclaw plugin enable "+off.Plugin+"` switches it on"
			}
		}
	}
	if !s.Config.Plugin(m.ID).Enabled {
		out.State, out.Why = "disabled", "plugins."+m.ID+".enabled is false"
	}
	if pin := p.Pin; pin != nil {
		if err := s.Store.VerifyProgram(m.ID, pin); err != nil {
			out.State, out.Why = BrokenState, err.Error()
		}
	}
	if _, failed := supervise.ReadCrashStatus(session.CrashReportDir(s.Config.Home().Path), m.ID); failed {
		out.State, out.Why = "crashed", "`picoclaw plugin reset "+m.ID+"` allows another start"
	}
	return out
}

// SetToolEnabled disables or enables a plugin or tool. It fails for unknown tools, and if another setting keeps it
// disabled.
func (s *Inventory) SetToolEnabled(off store.DisableRule, on bool) error {
	if !on {
		return s.Store.DisableTool(off)
	}
	still, err := s.Store.EnableTool(off)
	if err != nil {
		return err
	}
	if still != nil {
		return fmt.Errorf("%s is still disabled by the entry of %s; enable that too", off, still)
	}
	if isExactName(off.Plugin) && !s.Config.Plugin(off.Plugin).Enabled {
		return fmt.Errorf("%s is still off in the configuration: plugins.%s.enabled", off, off.Plugin)
	}
	return nil
}

// CheckRuleNames returns an error for unknown names, since a typo would have no effect. It accepts globs, which may
// match names of later plugins.
func (s *Inventory) CheckRuleNames(off store.DisableRule) error {
	if agents := s.Config.AgentIDs(); isExactName(off.Agent) && !slices.Contains(agents, off.Agent) {
		return fmt.Errorf("there is no agent %q%s; the configuration has %s", off.Agent, suggest.DidYouMean(off.Agent, agents),
			strings.Join(agents, ", "))
	}
	if !isExactName(off.Plugin) {
		return nil
	}
	if !slices.Contains(s.PluginIDs(), off.Plugin) {
		_, err := s.FindInstalled(off.Plugin)
		return err
	}
	for _, p := range s.Catalog.Plugins() {
		if p.Manifest.ID != off.Plugin || !isExactName(off.Tool) {
			continue
		}
		var tools []string
		for _, t := range p.Tools {
			tools = append(tools, t.Spec.Name)
		}
		if !slices.Contains(tools, off.Tool) {
			return fmt.Errorf("plugin %s has no tool %q%s", off.Plugin, off.Tool, suggest.DidYouMean(off.Tool, tools))
		}
	}
	return nil
}

// isExactName reports whether text is a name, and neither empty nor a glob.
func isExactName(text string) bool { return text != "" && !strings.ContainsAny(text, "*?[{") }

// FindInstalled returns the lock entry of an installed plugin.
func (s *Inventory) FindInstalled(id string) (*store.InstalledPlugin, error) {
	if pin := s.Lock.Plugins[id]; pin != nil {
		return pin, nil
	}
	for _, p := range s.Catalog.Plugins() {
		if p.Manifest.ID == id {
			return nil, fmt.Errorf("plugin %s is %s and not in the store; `picoclaw plugin disable %s` switches it off", id,
				p.Kind, id)
		}
	}
	return nil, fmt.Errorf("plugin %q is not installed%s", id, suggest.DidYouMean(id, s.PluginIDs()))
}

// ToolInfo describes a tool in JSON output.
type ToolInfo struct {
	Name        string           `json:"name"`
	Plugin      string           `json:"plugin"`
	Doc         string           `json:"doc"`
	Permissions []string         `json:"permissions,omitempty"`
	Risk        string           `json:"risk,omitempty"`
	ReadOnly    bool             `json:"read_only"`
	Deferred    bool             `json:"deferred,omitempty"`
	Input       *pluginpb.Schema `json:"input"`
	Output      *pluginpb.Schema `json:"output,omitempty"`
}

func NewToolInfos(tools []session.Tool) []ToolInfo {
	list := make([]ToolInfo, 0, len(tools))
	for _, t := range tools {
		list = append(list, ToolInfo{
			Name: t.Name, Plugin: t.Plugin, Doc: t.Spec.Doc, Permissions: t.Spec.Permissions, Risk: t.Spec.Risk,
			ReadOnly: t.Spec.ReadOnly, Deferred: t.Deferred, Input: t.Spec.Input, Output: t.Spec.Output,
		})
	}
	return list
}

// SummariseGrants summarises grants in a few words.
func SummariseGrants(g *pluginpb.Grant) string {
	if g == nil {
		return "none"
	}
	var words []string
	for _, grant := range []struct {
		has   bool
		words []string
	}{
		{g.Workspace != "" && g.Workspace != "none", []string{"workspace", g.Workspace}},
		{g.Exec, append([]string{"exec"}, g.Programs...)},
		{g.Network, append([]string{"network"}, g.Hosts...)},
		{g.State, []string{"state"}}, {g.Takeback, []string{"takeback"}},
		{len(g.Env) > 0, append([]string{"env"}, g.Env...)},
		{len(g.Secrets) > 0, append([]string{"secrets"}, g.Secrets...)},
	} {
		if grant.has {
			words = append(words, strings.Join(grant.words, " "))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// ExplainGrants returns a sentence for each permission in grants.
func ExplainGrants(g pluginpb.Grant) []string {
	var all []string
	for _, grant := range []struct {
		has      bool
		sentence string
	}{
		{g.Workspace == "ro", "read the agent's workspace and the paths that its policy opens"},
		{g.Workspace == "rw", "read and change the agent's workspace and the paths that its policy opens"},
		{g.Exec && len(g.Programs) > 0, "start these programs: " + strings.Join(g.Programs, ", ")},
		{g.Exec && len(g.Programs) == 0, "start other programs"},
		{g.Network && len(g.Hosts) > 0, "reach these hosts: " + strings.Join(g.Hosts, ", ")},
		{g.Network && len(g.Hosts) == 0, "reach the network, so it can send everything it reads anywhere"},
		{g.State, "keep files between runs"},
		{g.Takeback, "use the undo store, which has earlier file contents"},
		{len(g.Secrets) > 0, "use these secrets, without seeing them: " + strings.Join(g.Secrets, ", ")},
		{len(g.Env) > 0, "see these variables of picoclaw's environment: " + strings.Join(g.Env, ", ")},
	} {
		if grant.has {
			all = append(all, grant.sentence)
		}
	}
	return all
}
