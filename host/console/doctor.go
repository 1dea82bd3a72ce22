package console

import (
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/doctor"
)

// doctorReports has the latest doctor report of each agent. The zero value is ready to use.
type doctorReports struct {
	running sync.Mutex // held during a self-test
	reports sync.Map   // *timedReport by agent
}

// timedReport is a doctor report with its time.
type timedReport struct {
	*doctor.Report

	Time time.Time
}

// doctorView is the data of the doctor page.
type doctorView struct {
	Agent  string
	Agents []string
	Report *timedReport // may be nil
}

func (c *Console) showDoctor(v *authenticatedRequest) (any, error) {
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
	if known, ok := c.reports.reports.Load(view.Agent); ok {
		view.Report = known.(*timedReport)
	}
	return view, nil
}

// runDoctor tests an agent's protections. It takes a while, so it runs only on request.
func (c *Console) runDoctor(v *authenticatedRequest) (string, error) {
	one, err := c.findAgent(v.PostFormValue("agent"))
	if err != nil {
		return "", err
	}
	if !c.reports.running.TryLock() {
		return "", &httpError{http.StatusConflict, "A check is running already; reload the page later."}
	}
	defer c.reports.running.Unlock()
	r, err := c.options.Instance.Examine(v.Context(), one.ID)
	if err != nil {
		return "", err
	}
	c.reports.reports.Store(one.ID, &timedReport{r, time.Now()})
	return "doctor?" + url.Values{"agent": {one.ID}}.Encode(), nil
}
