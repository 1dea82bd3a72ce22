package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/host/run"
	"github.com/picoclaw/picoclaw/host/store"
)

// agentsView is the data for the template of the agents page.
type agentsView struct {
	All    *killswitch.Stop // stops all agents; nil for none
	Agents []agentRow
	Runs   []run.RunRecord
}

// agentRow is an agent with its stop, if it is stopped.
type agentRow struct {
	Agent

	Stop *killswitch.Stop // nil for nothing
	On   int              // of its tools
	Off  int
}

func (c *Console) showAgents(*authenticatedRequest) (any, error) {
	all, err := c.options.Instance.Agents()
	if err != nil {
		return nil, err
	}
	stopped := killswitch.ReadStops(c.options.Home)
	view := agentsView{}
	if view.Runs, err = run.ListRunning(c.options.Home); err != nil {
		return nil, err
	}
	if stop := stopped.StopOfAgent(""); stop != nil && stop.Agent == "" {
		view.All = stop
	}
	for _, a := range all {
		view.Agents = append(view.Agents, newAgentRow(a, stopped))
	}
	return view, nil
}

func newAgentRow(a Agent, stopped killswitch.StopsByAgent) agentRow {
	out := agentRow{Agent: a, Stop: stopped.StopOfAgent(a.ID)}
	for _, p := range a.Plugins {
		for _, t := range p.Tools {
			if t.Enabled {
				out.On++
			} else {
				out.Off++
			}
		}
	}
	return out
}

func (c *Console) showAgent(v *authenticatedRequest) (any, error) {
	one, err := c.findAgent(v.FormValue("id"))
	return newAgentRow(one, killswitch.ReadStops(c.options.Home)), err
}

// findAgent finds a configured agent.
func (c *Console) findAgent(id string) (Agent, error) {
	all, err := c.options.Instance.Agents()
	if err != nil {
		return Agent{}, err
	}
	for _, a := range all {
		if a.ID == id {
			return a, nil
		}
	}
	return Agent{}, newNotFoundError("There is no such agent in the configuration.")
}

// stopOrResumeAgent stops or resumes an agent, or all agents.
func (c *Console) stopOrResumeAgent(v *authenticatedRequest) (string, error) {
	id := v.PostFormValue("agent")
	if id != "" {
		if _, err := c.findAgent(id); err != nil {
			return "", err
		}
	}
	next := "agents"
	if v.PostFormValue("on") != "" {
		next = "agent?" + url.Values{"id": {id}}.Encode()
	}
	switch v.PostFormValue("do") {
	case "stop":
		c.options.Logger.Info("agents are stopped", "agent", id, "by", v.By)
		return next, killswitch.StopAgent(c.options.Home, killswitch.Stop{Agent: id, Time: time.Now().UTC(), By: v.By,
			Why: strings.ToValidUTF8(v.PostFormValue("why"), "\uFFFD")})
	case "start":
		c.options.Logger.Info("agents go on", "agent", id, "by", v.By)
		killswitch.ReadStopOfAgent(c.options.Home, id).WaitUntilHostsRead()
		if _, err := killswitch.ResumeAgent(c.options.Home, id); err != nil {
			return "", &httpError{http.StatusConflict, "Not done: " + err.Error()}
		}
		return next, nil
	}
	return "", newNotFoundError("The form has no known action.")
}

// switchTool disables or enables a tool, or a whole plugin, for an agent.
func (c *Console) switchTool(v *authenticatedRequest) (string, error) {
	off := store.DisableRule{Plugin: v.PostFormValue("plugin"), Tool: v.PostFormValue("tool"), Agent: v.PostFormValue("agent")}
	do := v.PostFormValue("do")
	one, err := c.findAgent(off.Agent)
	if err != nil {
		return "", err
	}
	if do != "on" && do != "off" || !one.hasPluginTool(off.Plugin, off.Tool) {
		return "", newNotFoundError("There is no such tool.")
	}
	c.options.Logger.Info("a switch is turned", "what", off.String(), "to", do, "by", v.By)
	if err := c.options.Instance.SetToolEnabled(off, do == "on"); err != nil {
		return "", &httpError{http.StatusConflict, "Not done: " + err.Error()}
	}
	return "agent?" + url.Values{"id": {off.Agent}}.Encode(), nil
}

// hasPluginTool reports whether an agent's plugin has a tool or, for an empty tool, whether the agent has the plugin.
func (a Agent) hasPluginTool(plugin, tool string) bool {
	return slices.ContainsFunc(a.Plugins, func(p AgentPlugin) bool {
		return p.ID == plugin && slices.ContainsFunc(p.Tools, func(t AgentTool) bool { return tool == "" || t.Name == tool })
	})
}

// pluginsView is the data for the template of the plugins page. The page has no actions: a person must read a server's
// definitions in a terminal to trust it.
type pluginsView struct {
	Plugins []Plugin
	Waiting int // number that need attention
}

func (c *Console) showPlugins(*authenticatedRequest) (any, error) {
	all, err := c.options.Instance.Plugins()
	if err != nil {
		return nil, err
	}
	view := pluginsView{Plugins: all}
	for _, p := range all {
		if p.State != "ok" && p.State != "disabled" || p.Waiting != "" {
			view.Waiting++
		}
	}
	return view, nil
}
