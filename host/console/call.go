package console

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
)

// callView is the data for the template of a call's page.
type callView struct {
	Call      audit.Record
	Arguments []argumentRow
	Answer    RedactedResult
	Own       bool // made by this gateway
}

// argumentRow is one argument of a call.
type argumentRow struct{ Name, Value string }

func (c *Console) showCall(v *authenticatedRequest) (any, error) {
	session := v.FormValue("session")
	at, err := time.Parse(time.RFC3339Nano, v.FormValue("at"))
	if err != nil {
		return nil, newNotFoundError("The address names no call.")
	}
	call, ok := c.feed.findCall(session, at)
	if !ok {
		if call, err = audit.FindCall(c.options.Log, session, at); errors.Is(err, audit.ErrNotInLog) {
			return nil, newNotFoundError("The audit log has no such call, or no longer.")
		} else if err != nil {
			return nil, err
		}
	}
	view := callView{Call: call, Answer: c.results.findResult(session, at)}
	for _, name := range slices.Sorted(maps.Keys(call.Args)) {
		view.Arguments = append(view.Arguments, argumentRow{name, formatArgument(call.Args[name])})
	}
	return view, nil
}
