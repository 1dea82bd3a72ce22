package console

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
)

// callView is what the page of a call shows.
type callView struct {
	Call      audit.Record
	Arguments []argument
	Answer    Answer
	Own       bool // the gateway has made the call, and not another process
}

// argument is one of a call's.
type argument struct{ Name, Value string }

func (c *Console) showCall(v *visit) (any, error) {
	session := v.FormValue("session")
	at, err := time.Parse(time.RFC3339Nano, v.FormValue("at"))
	if err != nil {
		return nil, missing("The address names no call.")
	}
	call, ok := c.feed.find(session, at)
	if !ok {
		if call, err = audit.FindCall(c.options.Log, session, at); errors.Is(err, audit.ErrGone) {
			return nil, missing("There is no such call in the record, or not any more.")
		} else if err != nil {
			return nil, err
		}
	}
	view := callView{Call: call, Answer: c.results.answer(session, at)}
	for _, name := range slices.Sorted(maps.Keys(call.Args)) {
		view.Arguments = append(view.Arguments, argument{name, value(call.Args[name])})
	}
	return view, nil
}
