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

// Replayed is what a session's policy decides of a call that was recorded.
type Replayed struct {
	guard.Decision

	// Inexact says why the decision may be another than that of the call itself; "" if it is the same.
	Inexact string
}

// Replay decides a recorded call without making it, with files as they are now. The record has all of a call's
// arguments but what was cut short or was a secret; that matters where it says what the call reaches.
func (s *Session) Replay(r audit.Record) Replayed {
	out := s.replay(r)
	switch {
	case out.Inexact != "":
	case r.Parent != "":
		out.Inexact = "another session has opened that of the call, and may have narrowed it"
	case strings.HasPrefix(r.Rule, "hooks."):
		out.Inexact = "a hook has decided, and is not asked again"
	}
	return out
}

func (s *Session) replay(r audit.Record) Replayed {
	if r.Tool == "network" {
		return s.replayNetwork(r)
	}
	raw := json.RawMessage("{}")
	if len(r.Args) > 0 {
		var err error
		if raw, err = json.Marshal(r.Args); err != nil {
			return Replayed{Inexact: err.Error()}
		}
	}
	t, args, e := s.findAndDecode(r.Tool, raw)
	// the record of a call that could not be read, or whose tool is not the agent's, has no arguments
	unread := len(r.Args) == 0 && r.Decision == guard.Deny.String()
	if e != nil {
		out := Replayed{Decision: guard.Decision{Verdict: guard.Deny, Rule: e.Rule, Reason: e.Message, Hint: e.Hint}}
		if e.Code == pluginpb.CodeInvalidArgument && (r.Decision != guard.Deny.String() || r.Rule != "") {
			out.Inexact = "its arguments were not recorded as they were"
		}
		return out
	}
	out := Replayed{Decision: s.decideClaims(t.Plugin, args)}
	if unread {
		out.Inexact = "its arguments were not recorded"
	}
	for _, site := range args.claims {
		for _, at := range valuesAt(args.Values, site.Path) {
			if !audit.Whole(at.value) {
				out.Inexact = "its argument " + site.Path[0] + " was cut short or had a secret in it"
			}
		}
	}
	return out
}

// replayNetwork decides a connection.
func (s *Session) replayNetwork(r audit.Record) Replayed {
	name, _ := r.Args["host"].(string)
	port, _ := r.Args["port"].(float64)
	if name == "" || port == 0 {
		return Replayed{Inexact: "the record sums several hosts up"}
	}
	d, err := s.ExplainHost(net.JoinHostPort(name, strconv.Itoa(int(port))))
	switch {
	case err != nil:
		return Replayed{Inexact: err.Error()}
	case strings.HasPrefix(r.Rule, "plugins."):
		return Replayed{Decision: d, Inexact: "the plugin's own hosts have decided"}
	}
	return Replayed{Decision: d}
}
