package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// listedPlugin is a plugin as scripts read it.
type listedPlugin struct {
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
	Tools   []listedTool    `json:"tools,omitempty"`
	Off     []store.Off     `json:"off,omitempty"`
}

func newPluginList(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the plugins that there are",
		Example: "  picoclaw plugin list\n  picoclaw plugin list --output json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := format(output); err != nil {
				return err
			}
			s, err := a.shelf()
			if err != nil {
				return err
			}
			all := s.list()
			if output == "json" {
				for i := range all {
					all[i].Tools = nil
				}
				return a.printJSON(all)
			}
			table := terminal.NewTable("PLUGIN", "VERSION", "KIND", "STATE", "GRANTS", "WHAT IT IS FOR")
			for _, p := range all {
				state := p.State
				if p.Waiting != "" {
					state += ", " + p.Waiting + " waits"
				}
				table.Row(p.ID, p.Version, string(p.Kind), state, grantText(p.Granted), p.Doc)
				if p.State != "ok" {
					table.Style(3, terminal.Bad)
				}
			}
			out := terminal.New(a.stdout)
			if err := table.Write(out); err != nil {
				return err
			}
			for _, p := range all {
				if p.State == broken {
					fmt.Fprintf(out, "%s %s: %s\n", out.Paint(terminal.Bad, "broken:"), p.ID, terminal.Line(p.Why))
				}
			}
			return nil
		},
	}
	a.outputFlag(cmd, &output)
	return cmd
}

// broken is the state of a plugin that can't be offered, or not be started.
const broken = "broken"

// list describes all plugins, sorted by id.
func (s *shelf) list() []listedPlugin {
	byID := map[string]listedPlugin{}
	for _, p := range s.catalog.Plugins() {
		byID[p.Manifest.ID] = s.describe(p)
	}
	for _, problem := range s.catalog.Problems() {
		for _, id := range s.ids() {
			p, known := byID[id]
			if problem.Plugin != id && (problem.Plugin != "" || known) {
				continue
			}
			dev := s.cfg.Plugin(id).Dev
			if pin := s.lock.Plugins[id]; !known && dev != "" {
				p = listedPlugin{ID: id, Kind: catalog.Dev, Dir: dev}
			} else if !known && pin != nil {
				p = listedPlugin{ID: id, Version: pin.Version, Kind: catalog.Installed, Dir: s.store.Dir(id, pin.Version),
					Source: pin.Source}
			}
			p.State, p.Why = broken, problem.Err.Error()
			byID[id] = p
		}
	}
	all := make([]listedPlugin, 0, len(byID))
	for _, id := range s.ids() {
		all = append(all, byID[id])
	}
	return all
}

func (s *shelf) describe(p *catalog.Plugin) listedPlugin {
	m := p.Manifest
	out := listedPlugin{ID: m.ID, Version: m.Version, Kind: p.Kind, State: "ok", Doc: m.Doc, Dir: p.Dir, Asks: &m.Grants}
	if pin := p.Pin; pin != nil {
		out.Source, out.Signer, out.Granted = pin.Source, pin.Signer, &pin.Grants
		if pin.Waiting != nil {
			out.Waiting = pin.Waiting.Version
		}
	}
	if c := s.cfg.Plugin(m.ID); c.Granted {
		out.Granted = &c.Grants
	}
	for i := range p.Tools {
		out.Tools = append(out.Tools, toolList([]host.Tool{{Name: p.Tools[i].Spec.Name, Plugin: m.ID,
			Spec: p.Tools[i].Spec}})...)
	}
	for _, off := range s.lock.Off {
		if off.Concerns(m.ID) {
			out.Off = append(out.Off, off)
			if off.Tool == "" && off.Agent == "" {
				out.State, out.Why = "disabled", "`picoclaw plugin enable "+off.Plugin+"` switches it on"
			}
		}
	}
	if !s.cfg.Plugin(m.ID).Enabled {
		out.State, out.Why = "disabled", "plugins."+m.ID+".enabled is false"
	}
	if pin := p.Pin; pin != nil {
		if err := s.store.VerifyProgram(m.ID, pin); err != nil {
			out.State, out.Why = broken, err.Error()
		}
	}
	if _, failed := supervise.Crashed(host.CrashDir(s.cfg.Home().Path), m.ID); failed {
		out.State, out.Why = "crashed", "`picoclaw plugin reset "+m.ID+"` lets it be started again"
	}
	return out
}

// grantText says in a few words what a plugin has been given.
func grantText(g *pluginpb.Grant) string {
	if g == nil {
		return "none"
	}
	var words []string
	if g.Workspace != "" && g.Workspace != "none" {
		words = append(words, "workspace "+g.Workspace)
	}
	for _, grant := range []struct {
		name string
		has  bool
	}{{execText(g), g.Exec}, {networkText(g), g.Network}, {"state", g.State}, {"takeback", g.Takeback}} {
		if grant.has {
			words = append(words, grant.name)
		}
	}
	if len(g.Env) > 0 {
		words = append(words, "env "+strings.Join(g.Env, " "))
	}
	if len(g.Secrets) > 0 {
		words = append(words, "secrets "+strings.Join(g.Secrets, " "))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// networkText names the network grant, with the hosts that it is for.
func networkText(g *pluginpb.Grant) string {
	if len(g.Hosts) == 0 {
		return "network"
	}
	return "network " + strings.Join(g.Hosts, " ")
}

// execText names the exec grant, with the programs that it is for.
func execText(g *pluginpb.Grant) string {
	if len(g.Programs) == 0 {
		return "exec"
	}
	return "exec " + strings.Join(g.Programs, " ")
}

func newPluginInfo(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:               "info ID",
		Short:             "Show a plugin: where it is from, what it may do, its tools",
		Example:           "  picoclaw plugin info filesystem",
		Args:              onePlugin,
		ValidArgsFunction: a.pluginNames,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := format(output); err != nil {
				return err
			}
			s, err := a.shelf()
			if err != nil {
				return err
			}
			for _, p := range s.list() {
				if p.ID == args[0] {
					if output == "json" {
						return a.printJSON(p)
					}
					a.showPlugin(p)
					return nil
				}
			}
			_, err = s.installed(args[0])
			return err
		},
	}
	a.outputFlag(cmd, &output)
	return cmd
}

func (a *app) showPlugin(p listedPlugin) {
	out := terminal.New(a.stdout)
	fmt.Fprintf(out, "%s %s  %s\n", out.Paint(terminal.Bold, p.ID), terminal.Line(p.Version), terminal.Line(p.Doc))
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "  %-9s %s\n", name, terminal.Line(value))
		}
	}
	state := p.State
	if p.Why != "" {
		state += ": " + p.Why
	}
	line("state", state)
	if p.Waiting != "" {
		line("waiting", p.Waiting+"; `picoclaw plugin update "+p.ID+"` shows what is different and asks")
	}
	line("kind", string(p.Kind))
	line("dir", p.Dir)
	line("source", p.Source)
	line("signed by", p.Signer)
	line("asks for", grantText(p.Asks))
	line("granted", grantText(p.Granted))
	for _, off := range p.Off {
		line("off", off.String())
	}
	for _, t := range p.Tools {
		line("tool", t.Name+"  "+t.Doc)
	}
}
