// Package inventory says what plugins and MCP servers an instance root has, and in what state each is: what was
// granted, what was taken back, what waits for a yes.
//
// It must not know how that is shown, nor how a plugin is installed or started.
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

// Inventory is the plugins of an instance root.
type Inventory struct {
	Config  *config.Config
	Store   *store.Store
	Catalog *catalog.Catalog
	Lock    *store.Lock
}

// Read reads the inventory of a host. It starts nothing.
func Read(h *session.Host) (*Inventory, error) {
	s := &Inventory{Config: h.Config(), Store: store.Open(h.Config().Home().Path), Catalog: h.Plugins()}
	var err error
	s.Lock, err = s.Store.Read()
	return s, err
}

// IDs are the ids of all plugins that there are, or should be.
func (s *Inventory) IDs() []string {
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

// Plugin is a plugin as scripts read it.
type Plugin struct {
	ID      string          `json:"id"`
	Version string          `json:"version,omitempty"`
	Kind    catalog.Kind    `json:"kind"`
	State   string          `json:"state"` // ok, disabled, crashed or broken
	Why     string          `json:"why,omitempty"`
	Waiting string          `json:"waiting,omitempty"` // a version that waits for a yes
	Doc     string          `json:"doc,omitempty"`
	Dir     string          `json:"dir,omitempty"`
	Source  string          `json:"source,omitempty"`
	Signer  string          `json:"signer,omitempty"`
	Asks    *pluginpb.Grant `json:"asks,omitempty"`
	Granted *pluginpb.Grant `json:"granted,omitempty"` // when it was installed
	Tools   []Tool          `json:"tools,omitempty"`
	Off     []store.Off     `json:"off,omitempty"`
}

// Broken is the state of a plugin that can't be offered, or not be started.
const Broken = "broken"

// Plugins describes all plugins, sorted by id.
func (s *Inventory) Plugins() []Plugin {
	byID := map[string]Plugin{}
	for _, p := range s.Catalog.Plugins() {
		byID[p.Manifest.ID] = s.describe(p)
	}
	for _, problem := range s.Catalog.Problems() {
		for _, id := range s.IDs() {
			p, known := byID[id]
			if problem.Plugin != id && (problem.Plugin != "" || known) {
				continue
			}
			dev := s.Config.Plugin(id).Dev
			if pin := s.Lock.Plugins[id]; !known && dev != "" {
				p = Plugin{ID: id, Kind: catalog.Dev, Dir: dev}
			} else if !known && pin != nil {
				p = Plugin{ID: id, Version: pin.Version, Kind: catalog.Installed, Dir: s.Store.Dir(id, pin.Version),
					Source: pin.Source}
			}
			p.State, p.Why = Broken, problem.Err.Error()
			byID[id] = p
		}
	}
	all := make([]Plugin, 0, len(byID))
	for _, id := range s.IDs() {
		all = append(all, byID[id])
	}
	return all
}

func (s *Inventory) describe(p *catalog.Plugin) Plugin {
	m := p.Manifest
	out := Plugin{ID: m.ID, Version: m.Version, Kind: p.Kind, State: "ok", Doc: m.Doc, Dir: p.Dir, Asks: &m.Grants}
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
		out.Tools = append(out.Tools, Tools([]session.Tool{{Name: p.Tools[i].Spec.Name, Plugin: m.ID,
			Spec: p.Tools[i].Spec}})...)
	}
	for _, off := range s.Lock.Off {
		if off.Concerns(m.ID) {
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
			out.State, out.Why = Broken, err.Error()
		}
	}
	if _, failed := supervise.CountCrashes(session.CrashDir(s.Config.Home().Path), m.ID); failed {
		out.State, out.Why = "crashed", "`picoclaw plugin reset "+m.ID+"` lets it be started again"
	}
	return out
}
