package console

import (
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/doctor"
)

// examined are the reports on agents' walls. The zero value is ready.
type examined struct {
	running sync.Mutex // held while walls are attacked
	mu      sync.Mutex
	reports map[string]*report
}

// report is one with its time.
type report struct {
	*doctor.Report

	Time time.Time
}

// doctorView is what the page of walls shows.
type doctorView struct {
	Agent  string
	Agents []string
	Report *report // nil for none yet
}

func (c *Console) showDoctor(v *visit) (any, error) {
	all, err := c.options.Instance.Agents()
	if err != nil {
		return nil, err
	}
	view := doctorView{Agent: v.FormValue("agent")}
	for _, a := range all {
		view.Agents = append(view.Agents, a.ID)
	}
	if view.Agent == "" && len(all) > 0 {
		view.Agent = all[0].ID
	}
	c.examined.mu.Lock()
	defer c.examined.mu.Unlock()
	view.Report = c.examined.reports[view.Agent]
	return view, nil
}

// examine has a sandbox built and attacked: that takes a while, so it is done when somebody asks for it.
func (c *Console) examine(v *visit) (string, error) {
	one, err := c.agent(v.PostFormValue("agent"))
	if err != nil {
		return "", err
	}
	if !c.examined.running.TryLock() {
		return "", &refusal{http.StatusConflict, "Walls are being examined already: load the page again in a while."}
	}
	defer c.examined.running.Unlock()
	r, err := c.options.Instance.Examine(v.Context(), one.ID)
	if err != nil {
		return "", err
	}
	c.examined.mu.Lock()
	defer c.examined.mu.Unlock()
	if c.examined.reports == nil {
		c.examined.reports = map[string]*report{}
	}
	c.examined.reports[one.ID] = &report{r, time.Now()}
	return "doctor?" + url.Values{"agent": {one.ID}}.Encode(), nil
}
