package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/console"
	"github.com/picoclaw/picoclaw/host/doctor"
	"github.com/picoclaw/picoclaw/host/inventory"
	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/host/schedule"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/store"
)

// errNotReady means that the gateway has no runtime yet.
var errNotReady = errors.New("the gateway is not ready yet")

// Agents returns the configured agents, as in `picoclaw agents show`.
func (o *ConsoleActions) Agents() ([]console.Agent, error) {
	a := o.current.Load()
	if a == nil {
		return nil, errNotReady
	}
	var all []console.Agent
	for _, id := range a.config.AgentIDs() {
		of, err := a.config.ResolveAgent(id)
		if err != nil {
			return nil, err
		}
		s, err := a.OpenPreviewSession(id, session.Console)
		if err != nil {
			return nil, err
		}
		one := console.Agent{ID: id, Workspace: s.Policy().WorkspacePath(), Restricted: s.Policy().GuardPolicy().Restrict,
			Words: mcp.ModelInstructions(s.Policy()), Settings: explicitSettings(of), Network: networkAccess(s.Policy()),
			Jobs: of.Tools.Cron.Enabled}
		if _, err := a.findAgentModel(of); err == nil && of.Heartbeat.Enabled {
			one.Heartbeat = schedule.HeartbeatInterval(of.Heartbeat.Interval)
		}
		for _, h := range s.PluginStatuses() {
			one.Plugins = append(one.Plugins, toAgentPlugin(h))
		}
		all = append(all, one)
	}
	return all, nil
}

// explicitSettings returns the redacted settings that are not defaults.
func explicitSettings(of *config.AgentConfig) []console.AgentSetting {
	var all []console.AgentSetting
	for _, s := range of.Settings() {
		if s.Origin.Source == config.DefaultSource {
			continue
		}
		text, err := jsonv2.Marshal(redact.RedactValue(s.Key, s.Value), jsonv2.Deterministic(true))
		if err != nil {
			text = []byte(err.Error())
		}
		all = append(all, console.AgentSetting{Key: s.Key, Value: string(text), Origin: s.Origin.String()})
	}
	return all
}

func toAgentPlugin(h session.PluginStatus) console.AgentPlugin {
	out := console.AgentPlugin{ID: h.Plugin, Enabled: h.Enabled, Grants: inventory.SummariseGrants(&h.Grants), Hosts: h.Grants.Hosts}
	for _, t := range h.Tools {
		out.Tools = append(out.Tools, console.AgentTool{Name: t.Name, Enabled: t.Enabled,
			Switched: t.Rule == "plugin disable", Why: t.Reason})
	}
	return out
}

// networkAccess returns the hosts that an agent's processes may reach.
func networkAccess(p *policy.Policy) console.AgentNetworkAccess {
	in, n := p.IsolationOptions(), p.NetworkRules()
	switch {
	case n != nil:
		out := console.AgentNetworkAccess{Words: "reaches allowed hosts only.", Allow: n.Allow, Ask: n.Ask,
			Deny: n.Deny, Ports: p.PublishedPorts()}
		for _, program := range n.From {
			out.Allow = append(slices.Clip(out.Allow), "the hosts that "+program+" is configured for")
		}
		return out
	case in.Enabled && !in.Network:
		return console.AgentNetworkAccess{Words: "reaches nothing: there is no network."}
	}
	return console.AgentNetworkAccess{Words: "reaches everything that this machine reaches, without audit entries."}
}

// readInventory returns the plugins of the current runtime.
func (o *ConsoleActions) readInventory() (*inventory.Inventory, error) {
	a := o.current.Load()
	if a == nil {
		return nil, errNotReady
	}
	return inventory.ReadInventory(a.Host)
}

// Plugins returns all plugins, as in `picoclaw plugin list` and `picoclaw mcp list`.
func (o *ConsoleActions) Plugins() ([]console.Plugin, error) {
	s, err := o.readInventory()
	if err != nil {
		return nil, err
	}
	byID := map[string]console.Plugin{}
	for _, p := range s.ListPlugins() {
		byID[p.ID] = toConsolePlugin(s, p)
	}
	for _, server := range s.ListServers() {
		one, known := byID[server.Name]
		if !known { // configured only
			one = console.Plugin{ID: server.Name, Granted: inventory.SummariseGrants(server.Granted)}
		}
		one.Server, one.Agents, one.Diff = server.Server, server.Agents, server.Diff
		if server.State != "ok" {
			one.State, one.Why = server.State, server.Why
		}
		byID[server.Name] = one
	}
	var all []console.Plugin
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		all = append(all, byID[id])
	}
	return all, nil
}

func toConsolePlugin(s *inventory.Inventory, p inventory.PluginInfo) console.Plugin {
	out := console.Plugin{ID: p.ID, Version: p.Version, Kind: string(p.Kind), State: p.State, Why: p.Why, Doc: p.Doc,
		Source: p.Source, Signer: p.Signer, Granted: inventory.SummariseGrants(p.Granted), Waiting: p.Waiting}
	if p.Asks != nil {
		out.Asks = inventory.SummariseGrants(p.Asks)
	}
	if p.Granted != nil {
		out.Meaning = inventory.ExplainGrants(*p.Granted)
	}
	for _, t := range p.Tools {
		out.Tools = append(out.Tools, console.PluginTool{Name: t.Name, Doc: t.Doc})
	}
	for _, off := range p.Off {
		out.Off = append(out.Off, off.String())
	}
	pin := s.Lock.Plugins[p.ID]
	if pin == nil || p.Kind != catalog.InstalledPlugin {
		return out
	}
	out.Installed, out.Agents = pin.Installed, pin.Agents
	for _, path := range slices.Sorted(maps.Keys(pin.Files)) {
		out.Pins = append(out.Pins, pin.Files[path]+"  "+path)
	}
	if pin.Data != "" {
		out.Pins = append(out.Pins, pin.Data+"  data/")
	}
	for _, w := range session.ReadToolWithdrawals(s.Config.Home().Path, p.ID, pin.Version) {
		out.Withdrawn = append(out.Withdrawn, fmt.Sprintf("%s, called by agent %s: %s", w.Tool, w.Agent, w.Why))
	}
	return out
}

// SetToolEnabled disables or enables a plugin or tool, as `picoclaw plugin disable` and `enable` do.
func (o *ConsoleActions) SetToolEnabled(off store.DisableRule, on bool) error {
	s, err := o.readInventory()
	if err != nil {
		return err
	}
	if err := s.CheckRuleNames(off); err != nil {
		return err
	}
	return s.SetToolEnabled(off, on)
}

// Examine tests an agent's protections, as `picoclaw doctor` does.
func (o *ConsoleActions) Examine(ctx context.Context, agent string) (*doctor.Report, error) {
	a := o.current.Load()
	if a == nil {
		return nil, errNotReady
	}
	s, err := a.OpenPreviewSession(agent, session.Console)
	if err != nil {
		return nil, err
	}
	return doctor.Examine(ctx, doctor.Options{Policy: s.Policy(), SelfTest: a.options.SelfTest, Logger: a.options.Logger})
}
