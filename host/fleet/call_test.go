package fleet

import (
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// An attempt that a worker turns away may have been taken by another one: not if that worker had the agent already when
// the attempt was made, and not if nobody was there at all.
func TestWhatComesBackWasNotAlwaysTakenByNobody(t *testing.T) {
	nobody := &nats.Msg{Header: nats.Header{"Status": {"503"}}}
	from := func(r reply) *nats.Msg {
		r.envelope = sealed()
		data, err := encode(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		return &nats.Msg{Data: data}
	}
	for name, test := range map[string]struct {
		answer *nats.Msg
		to     string // the attempt, or the question about it
		again  bool   // the call may be sent again
		free   bool   // to whoever has the agent
	}{
		"nobody is there":                                  {nobody, "x.ID-1", true, true},
		"nobody is there to be asked":                      {nobody, "x.ID-2", false, false},
		"the agent moved before the attempt":               {from(reply{Kind: kindMoved, HeldMS: 60_000}), "x.ID-1", true, true},
		"the agent moved after the attempt":                {from(reply{Kind: kindMoved, HeldMS: 500}), "x.ID-1", false, false},
		"the agent has moved, says who was asked about it": {from(reply{Kind: kindMoved, HeldMS: 60_000}), "x.ID-2", false, false},
		"the worker ends":                                  {from(reply{Kind: kindClosing}), "x.ID-1", true, true},
		"the worker is busy":                               {from(reply{Kind: kindBusy}), "x.ID-1", true, false},
		"it has not come yet":                              {from(reply{Kind: kindUnseen}), "x.ID-2", true, false},
		"it runs":                                          {from(reply{Kind: kindRunning}), "x.ID-1", false, false},
		"an event has come":                                {from(reply{Kind: kindEvent, Event: &event{}}), "x.ID-1", false, false},
		"something new is said":                            {from(reply{Kind: "later"}), "x.ID-1", false, false},
	} {
		client := &Client{fleet: &Fleet{tenant: "default"}, places: map[string]*place{}}
		c := &call{session: &Session{client: client, agent: "main"}, client: client, sent: 2, open: 1, first: tenure{epoch: 7}, firstIs: 1,
			at: time.Now().Add(-time.Second)}
		test.answer.Subject = test.to
		if _, result := c.answer(t.Context(), test.answer); result != nil {
			t.Errorf("%s: %v", name, result.Err)
		}
		if (c.open == 0) != test.again || (c.first.epoch == 0) != test.free {
			t.Errorf("%s: attempt %d is open, and the first epoch is %d", name, c.open, c.first.epoch)
		}
	}
}

func TestAClientRemembersSoManyPlaces(t *testing.T) {
	c := &Client{places: map[string]*place{}}
	for n := range 3 * mostPlaces {
		agent := strconv.Itoa(n)
		c.remember(agent, &place{})
		if c.places[agent] == nil {
			t.Fatalf("the place of agent %s is not remembered", agent)
		}
	}
	if n := len(c.places); n != mostPlaces {
		t.Errorf("%d places are remembered, not %d", n, mostPlaces)
	}
}
