package session

import (
	"encoding/json"
	"net"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ReplayedDecision is the decision of the session's current policy about a logged call.
type ReplayedDecision struct {
	guard.Decision

	// Inexact says why the decision may differ from the original; "" if it is exact.
	Inexact string
}

// ReplayDecision decides on a logged call by the current policy and files, without making the call. The log omits
// secrets and cuts long arguments, so the decision can be inexact.
func (s *Session) ReplayDecision(r audit.Record) ReplayedDecision {
	out := s.decideLoggedCall(r)
	switch {
	case out.Inexact != "":
	case r.Parent != "":
		out.Inexact = "another session has opened that of the call, and may have narrowed it"
	case strings.HasPrefix(r.Rule, "hooks."):
		out.Inexact = "a hook decided, which replay does not repeat"
	}
	return out
}

func (s *Session) decideLoggedCall(r audit.Record) ReplayedDecision {
	if r.Tool == "network" {
		return s.decideLoggedConnection(r)
	}
	raw := json.RawMessage("{}")
	if len(r.Args) > 0 {
		var err error
		if raw, err = json.Marshal(r.Args); err != nil {
			return ReplayedDecision{Inexact: err.Error()}
		}
	}
	t, args, e := s.findToolAndArguments(r.Tool, raw)
	// invalid calls and calls of unknown tools are logged without arguments
	unread := len(r.Args) == 0 && r.Decision == guard.Deny.String()
	if e != nil {
		out := ReplayedDecision{Decision: guard.Decision{Verdict: guard.Deny, Rule: e.Rule, Reason: e.Message, Hint: e.Hint}}
		if e.Code == pluginpb.CodeInvalidArgument && (r.Decision != guard.Deny.String() || r.Rule != "") {
			out.Inexact = "its arguments were not recorded as they were"
		}
		return out
	}
	out := ReplayedDecision{Decision: s.decideClaims(t.Plugin, args)}
	if unread {
		out.Inexact = "its arguments were not recorded"
	}
	for _, site := range args.claims {
		for _, at := range valuesAtPropertyPath(args.Values, site.Path) {
			if !audit.IsArgumentWhole(at.value) {
				out.Inexact = "its argument " + site.Path[0] + " was cut short or had a secret in it"
			}
		}
	}
	return out
}

// decideLoggedConnection decides on a logged network connection by the current policy.
func (s *Session) decideLoggedConnection(r audit.Record) ReplayedDecision {
	name, _ := r.Args["host"].(string)
	port, _ := r.Args["port"].(float64)
	if name == "" || port == 0 {
		return ReplayedDecision{Inexact: "the record sums several hosts up"}
	}
	d, err := s.ExplainHost(net.JoinHostPort(name, strconv.Itoa(int(port))))
	switch {
	case err != nil:
		return ReplayedDecision{Inexact: err.Error()}
	case strings.HasPrefix(r.Rule, "plugins."):
		return ReplayedDecision{Decision: d, Inexact: "the plugin's own hosts decided"}
	}
	return ReplayedDecision{Decision: d}
}
