package agent

import (
	"cmp"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/configview"
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/inventory"
	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func NewCmdAgents(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := cli.NewCommonCommand(f, &cobra.Command{Use: "agents", Short: "List agents"}, listAgents, runF, cli.WithOutput)
	cmd.AddCommand(NewCmdAgentsShow(f, nil))
	return cmd
}

// agentSummary is the JSON output of `picoclaw agents` about one agent.
type agentSummary struct {
	ID         string `json:"id"`
	Workspace  string `json:"workspace"`
	Restricted bool   `json:"restricted"` // to its workspace and allowed paths
	Tools      int    `json:"tools"`
	Stopped    string `json:"stopped,omitempty"` // the operator's stop
}

func listAgents(o *cli.CommonOptions) error {
	cfg, err := o.LoadConfig("")
	if err != nil {
		return err
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg})
	if err != nil {
		return cli.StartError(err)
	}
	all := []agentSummary{}
	for _, id := range cfg.AgentIDs() {
		s, err := h.OpenPreviewSession(id, session.CLI)
		if err != nil {
			return cli.StartError(err)
		}
		all = append(all, agentSummary{ID: id, Workspace: s.Policy().WorkspacePath(), Restricted: s.Policy().GuardPolicy().Restrict,
			Tools: len(s.Tools())})
		if stop := h.StopOfAgent(id); stop != nil {
			all[len(all)-1].Stopped = (&session.AgentStoppedError{Stop: stop}).Error()
		}
	}
	if o.Output == cli.JSON {
		return o.PrintJSON(all)
	}
	table := terminal.NewTable("AGENT", "WORKSPACE", "RESTRICTED", "TOOLS").AlignRight(3)
	for _, agent := range all {
		restricted := "yes"
		if !agent.Restricted {
			restricted = "no"
		}
		table.AddRow(agent.ID, agent.Workspace, restricted, fmt.Sprint(agent.Tools))
		if !agent.Restricted {
			table.StyleCell(2, terminal.Bad)
		}
	}
	out := terminal.NewWriter(o.Out)
	if err := table.Write(out); err != nil {
		return err
	}
	for _, agent := range all {
		if agent.Stopped != "" {
			fmt.Fprintf(out, "%s: %s\n", agent.ID, terminal.CleanLine(agent.Stopped))
		}
	}
	return nil
}

// agentDetails is the JSON output of `picoclaw agents show`.
type agentDetails struct {
	ID       string               `json:"id"`
	Settings []configview.Setting `json:"settings"`
	Plugins  []agentPlugin        `json:"plugins"`
}

type agentPlugin struct {
	ID      string               `json:"id"`
	Version string               `json:"version"`
	Kind    catalog.PluginOrigin `json:"kind"`
	Enabled bool                 `json:"enabled"`
	Grants  pluginpb.Grant       `json:"grants"` // in effect
	From    string               `json:"from"`   // origin of the grants
	Tools   []session.ToolStatus `json:"tools"`
}

func NewCmdAgentsShow(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "show [ID]",
		Short:             "Show an agent's permissions and the settings behind them",
		ValidArgsFunction: f.CompleteAgents,
	}
	args := func(id *string) cobra.PositionalArgs {
		return cli.NoArgumentsOr(cli.OneArgumentWithNoun(id, "the id of one agent"))
	}
	return cli.NewCommonCommand(f, cmd, showAgent, runF, cli.WithArgument(args), cli.WithOutput)
}

func showAgent(o *cli.CommonOptions) error {
	cfg, err := o.LoadConfig(o.Argument)
	if err != nil {
		return err
	}
	id := cmp.Or(o.Argument, cfg.AgentIDs()[0])
	agent, err := cfg.ResolveAgent(id)
	if err != nil {
		return cli.StartError(err) // as for --agent: no host has such an agent
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg})
	if err != nil {
		return cli.StartError(err)
	}
	s, err := h.OpenPreviewSession(id, session.CLI)
	if err != nil {
		return cli.StartError(err)
	}
	settings := agent.Settings()
	for i, setting := range settings {
		settings[i].Value = redact.RedactValue(setting.Key, setting.Value)
	}
	details := agentDetails{ID: id, Settings: configview.NewConfig(cfg, settings).Settings}
	for _, access := range s.PluginStatuses() {
		details.Plugins = append(details.Plugins, newAgentPlugin(cfg, access))
	}
	if o.Output == cli.JSON {
		return o.PrintJSON(details)
	}
	return printAgent(o.Factory, details, settings)
}

func newAgentPlugin(cfg *config.Config, h session.PluginStatus) agentPlugin {
	return agentPlugin{
		ID: h.Plugin, Version: h.Version, Kind: h.Kind, Enabled: h.Enabled, Grants: h.Grants, From: grantOrigin(cfg, h), Tools: h.Tools,
	}
}

// grantOrigin returns where a plugin's grants come from: a place in the configuration, or the installation.
func grantOrigin(cfg *config.Config, h session.PluginStatus) string {
	if cfg.Plugin(h.Plugin).Granted {
		by := config.Origin{}
		for _, s := range cfg.Settings() {
			if strings.HasPrefix(s.Key, "plugins."+h.Plugin+".grants.") && s.Origin.Source > by.Source {
				by = s.Origin
			}
		}
		return by.String()
	}
	if h.Kind == catalog.InstalledPlugin {
		return "picoclaw.lock"
	}
	return "default"
}

func printAgent(f *cli.Factory, shown agentDetails, settings []config.Setting) error {
	out := terminal.NewWriter(f.Out)
	fmt.Fprintf(out, "agent %s\n\n", out.Paint(terminal.Bold, shown.ID))
	table := terminal.NewTable("SETTING", "VALUE", "ORIGIN")
	for _, s := range settings {
		text, err := jsonv2.Marshal(s.Value, jsonv2.Deterministic(true))
		if err != nil {
			return err
		}
		table.AddRow(s.Key, string(text), s.Origin.String())
	}
	if err := table.Write(out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	table = terminal.NewTable("PLUGIN", "VERSION", "KIND", "GRANTS IN EFFECT", "ORIGIN")
	for _, p := range shown.Plugins {
		grants := inventory.SummariseGrants(&p.Grants)
		if !p.Enabled {
			grants = "disabled"
		}
		table.AddRow(p.ID, p.Version, string(p.Kind), grants, p.From)
	}
	if err := table.Write(out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	table = terminal.NewTable("TOOL", "PLUGIN", "", "BECAUSE OF")
	for _, p := range shown.Plugins {
		for _, t := range p.Tools {
			state := "may be called"
			if !t.Enabled {
				state = "disabled"
			}
			table.AddRow(t.Name, p.ID, state, t.Rule)
			if !t.Enabled {
				table.StyleCell(2, terminal.Faint)
			}
		}
	}
	return table.Write(out)
}
