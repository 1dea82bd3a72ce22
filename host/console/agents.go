package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/host/store"
)

// agentsView is what the page of agents shows.
type agentsView struct {
	All    *killswitch.Stop // stops all agents; nil for none
	Agents []shownAgent
}

// shownAgent is an agent, and what stops it.
type shownAgent struct {
	Agent

	Stop *killswitch.Stop // nil for nothing
	On   int              // of its tools
	Off  int
}

func (c *Console) showAgents(*visit) (any, error) {
	all, err := c.options.Instance.Agents()
	if err != nil {
		return nil, err
	}
	stopped := killswitch.ReadStops(c.options.Home)
	var view agentsView
	if stop := stopped.StopFor(""); stop != nil && stop.Agent == "" {
		view.All = stop
	}
	for _, a := range all {
		view.Agents = append(view.Agents, shown(a, stopped))
	}
	return view, nil
}

func shown(a Agent, stopped killswitch.StopsByAgent) shownAgent {
	out := shownAgent{Agent: a, Stop: stopped.StopFor(a.ID)}
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

func (c *Console) showAgent(v *visit) (any, error) {
	one, err := c.agent(v.FormValue("id"))
	if err != nil {
		return nil, err
	}
	stopped := killswitch.ReadStops(c.options.Home)
	return shown(one, stopped), nil
}

// agent finds an agent of the configuration.
func (c *Console) agent(id string) (Agent, error) {
	all, err := c.options.Instance.Agents()
	if err != nil {
		return Agent{}, err
	}
	for _, a := range all {
		if a.ID == id {
			return a, nil
		}
	}
	return Agent{}, missing("There is no such agent in the configuration.")
}

// stop stops an agent or all, or lets them go on.
func (c *Console) stop(v *visit) (string, error) {
	id := v.PostFormValue("agent")
	if id != "" {
		if _, err := c.agent(id); err != nil {
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
		killswitch.StopOf(c.options.Home, id).WaitUntilSeen()
		if _, err := killswitch.ResumeAgent(c.options.Home, id); err != nil {
			return "", &refusal{http.StatusConflict, "Not done: " + err.Error()}
		}
		return next, nil
	}
	return "", missing("The form says nothing that is done here.")
}

// switchTool switches a tool of an agent's, or a plugin with all its tools, off or on.
func (c *Console) switchTool(v *visit) (string, error) {
	off := store.Off{Plugin: v.PostFormValue("plugin"), Tool: v.PostFormValue("tool"), Agent: v.PostFormValue("agent")}
	do := v.PostFormValue("do")
	one, err := c.agent(off.Agent)
	if err != nil {
		return "", err
	}
	if do != "on" && do != "off" || !one.has(off.Plugin, off.Tool) {
		return "", missing("There is no such tool.")
	}
	c.options.Logger.Info("a switch is turned", "what", off.String(), "to", do, "by", v.By)
	if err := c.options.Instance.Switch(off, do == "on"); err != nil {
		return "", &refusal{http.StatusConflict, "Not done: " + err.Error()}
	}
	return "agent?" + url.Values{"id": {off.Agent}}.Encode(), nil
}

// has reports whether an agent has a plugin, and a tool of it unless that is empty: what is switched is exactly that.
func (a Agent) has(plugin, tool string) bool {
	for _, p := range a.Plugins {
		if p.ID != plugin {
			continue
		}
		for _, t := range p.Tools {
			if tool == "" || t.Name == tool {
				return true
			}
		}
	}
	return false
}
