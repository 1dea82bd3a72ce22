// Package inventory lists the plugins and MCP servers of a home with their state: granted, withdrawn, or waiting for
// approval.
//
// It must not know how the list is shown, nor how a plugin is installed or started.
package inventory

import (
	"maps"
	"slices"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/host/supervise"
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
