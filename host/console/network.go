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

// maxConnectionRecords limits the log entries that the network page reads.
const maxConnectionRecords = 5000

// networkView is the data of the network page.
type networkView struct {
	Agent, Since string
	Agents       []Agent
	Reached      []*hostConnectionTotals
	Back         time.Time // time of the oldest entry searched
	More         bool      // there are more in the requested time
}

// hostConnectionTotals counts the connections of one agent to one host.
type hostConnectionTotals struct {
	Agent, Host, Port, Decision, Rule string

	Refused        bool
	Times          int
	Sent, Received int64
	Last           time.Time
	Error          string // the latest
}

func (c *Console) showNetwork(v *authenticatedRequest) (any, error) {
	view := networkView{Agent: v.FormValue("agent"), Since: cmp.Or(v.FormValue("since"), "24h")}
	texts := url.Values{"agent": {view.Agent}, "since": {view.Since}, "tool": {"network"}}
	filter, err := audit.ParseFilter(texts.Get, time.Now())
	if err != nil {
		return nil, &httpError{http.StatusBadRequest, err.Error()}
	}
	if view.Agents, err = c.options.Instance.Agents(); err != nil {
		return nil, err
	}
	page, err := c.searchLog(audit.LogQuery{Filter: filter, Limit: maxConnectionRecords})
	if err != nil {
		return nil, err
	}
	view.Back, view.More = page.Reached, page.Next != ""
	view.Reached = groupConnections(page.Records)
	return view, nil
}

// groupConnections groups connections by agent, host, port and decision. Refused connections come first.
func groupConnections(records []audit.Record) (all []*hostConnectionTotals) {
	sums := map[[5]string]*hostConnectionTotals{}
	for _, r := range records {
		if r.Tool != "network" || r.Args["host"] == nil {
			continue // another tool with this name, or a port of this machine
		}
		key := [5]string{r.Agent, formatArgument(r.Args["host"]), "", r.Decision, r.Rule}
		if port, ok := r.Args["port"].(float64); ok {
			key[2] = strconv.FormatFloat(port, 'f', -1, 64)
		}
		sum := sums[key]
		if sum == nil { // entries are sorted newest first
			sum = &hostConnectionTotals{Agent: key[0], Host: key[1], Port: key[2], Decision: r.Decision, Rule: r.Rule,
				Refused: r.WasDenied(), Last: r.Time, Error: r.Error}
			sums[key] = sum
			all = append(all, sum)
		}
		sum.Times += max(1, int(toInt64(r.Args["times"])))
		sum.Sent += toInt64(r.Args["sent"])
		sum.Received += toInt64(r.Args["received"])
	}
	slices.SortStableFunc(all, func(a, b *hostConnectionTotals) int {
		if a.Refused != b.Refused {
			return map[bool]int{true: -1, false: 1}[a.Refused]
		}
		return cmp.Compare(b.Times, a.Times)
	})
	return all
}

func toInt64(v any) int64 {
	n, _ := v.(float64)
	return int64(n)
}
