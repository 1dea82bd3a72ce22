package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
)

// mostReached is how many records of connections are summed up for one page.
const mostReached = 5000

// networkView is what the page of the network shows.
type networkView struct {
	Agent, Since string
	Agents       []Agent
	Reached      []reached
	Back         time.Time // how far back was looked
	More         bool      // there are more within the time that was asked for
}

// reached is what one agent has had to do with one host.
type reached struct {
	Agent, Host, Port, Decision, Rule string

	Refused        bool
	Times          int
	Sent, Received int64
	Last           time.Time
	Error          string // the last one
}

func (c *Console) showNetwork(v *visit) (any, error) {
	view := networkView{Agent: v.FormValue("agent"), Since: cmp.Or(v.FormValue("since"), "24h")}
	texts := url.Values{"agent": {view.Agent}, "since": {view.Since}, "tool": {"network"}}
	filter, err := audit.ParseFilter(texts.Get, time.Now())
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	}
	if view.Agents, err = c.options.Instance.Agents(); err != nil {
		return nil, err
	}
	page, err := c.search(audit.Query{Filter: filter, Limit: mostReached})
	if err != nil {
		return nil, err
	}
	view.Back, view.More = page.Reached, page.Next != ""
	view.Reached = sumReached(page.Records)
	return view, nil
}

// sumReached sums records of connections up by agent, host, port and decision. What was refused comes first.
func sumReached(records []audit.Record) []reached {
	sums := map[[5]string]*reached{}
	var all []*reached
	for _, r := range records {
		if r.Tool != "network" {
			continue // another tool of this name
		}
		key := [5]string{r.Agent, value(r.Args["host"]), "", r.Decision, r.Rule}
		if port, ok := r.Args["port"].(float64); ok {
			key[2] = strconv.FormatFloat(port, 'f', -1, 64)
		}
		sum := sums[key]
		if sum == nil { // records come the newest first
			sum = &reached{Agent: key[0], Host: key[1], Port: key[2], Decision: r.Decision, Rule: r.Rule,
				Refused: r.WasDenied(), Last: r.Time, Error: r.Error}
			sums[key] = sum
			all = append(all, sum)
		}
		sum.Times += max(1, int(number(r.Args["times"])))
		sum.Sent += number(r.Args["sent"])
		sum.Received += number(r.Args["received"])
	}
	slices.SortStableFunc(all, func(a, b *reached) int {
		if a.Refused != b.Refused {
			return map[bool]int{true: -1, false: 1}[a.Refused]
		}
		return cmp.Compare(b.Times, a.Times)
	})
	out := make([]reached, 0, len(all))
	for _, sum := range all {
		out = append(out, *sum)
	}
	return out
}

func number(v any) int64 {
	n, _ := v.(float64)
	return int64(n)
}
