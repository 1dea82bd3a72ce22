package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// place says who has an agent. Its epoch is the revision of its entry.
type place struct {
	envelope
	Worker   string `json:"worker"`
	Instance string `json:"instance"`
	Sent     *sent  `json:"sent,omitempty"` // its workspace is on its way there
	Kept     string `json:"kept,omitempty"` // the proof of who has got it last
	Why      string `json:"why,omitempty"`  // a move has come to nothing
	epoch    uint64
	left     bool // by that worker, and nobody has it
}

// ErrNowhere is the error of an agent that no worker has.
var ErrNowhere = errors.New("no worker has it")

// errMoving is the error of an agent that nobody serves until its workspace has come.
var errMoving = errors.New("its workspace is on its way to another worker")

// where looks up who has an agent.
func (f *Fleet) where(ctx context.Context, agent string) (*place, error) {
	p, err := f.last(ctx, agent)
	if err == nil && (p == nil || p.left) {
		err = ErrNowhere
	}
	return p, err
}

// last looks up who has an agent, or had it and has left it to others; nil for nobody.
func (f *Fleet) last(ctx context.Context, agent string) (*place, error) {
	e, err := f.latest(ctx, agent)
	if err != nil || e.revision == 0 {
		return nil, err
	}
	p := &place{epoch: e.revision, left: e.gone}
	if err = json.Unmarshal(e.value, p); err == nil {
		err = p.check()
	}
	switch {
	case e.gone && err != nil: // somebody else has removed it, who has left no word
		return &place{epoch: e.revision, left: true}, nil
	case e.gone:
		p.Sent = nil
	case err != nil:
		return nil, fmt.Errorf("what the fleet says of agent %s can't be read: %w", agent, err)
	}
	return p, nil
}

// take makes an agent that of a worker's life, if before is still what stands there; nil for nothing. The epoch is
// larger than any that the agent has had.
func (f *Fleet) take(ctx context.Context, agent string, l *lease, before *place, kept, why string) (uint64, error) {
	epoch := uint64(0)
	if before != nil {
		epoch = before.epoch
	}
	return f.put(ctx, agent, place{Worker: l.worker, Instance: l.instance, Kept: kept, Why: why}, epoch)
}

// put writes the placement of an agent, if its entry still has the epoch; zero for no entry.
func (f *Fleet) put(ctx context.Context, agent string, p place, epoch uint64) (uint64, error) {
	p.envelope = sealed()
	data, err := json.Marshal(p)
	if err != nil {
		return 0, err
	}
	if epoch == 0 {
		return f.placement.Create(ctx, agent, data)
	}
	return f.placement.Update(ctx, agent, data, epoch)
}

// leave has others take an agent. Its entry is deleted, and what is left of it still has the proof: whoever has sent
// the workspace may not have seen it yet.
func (f *Fleet) leave(ctx context.Context, agent, worker, kept string, epoch uint64) error {
	data, err := json.Marshal(place{envelope: sealed(), Worker: worker, Kept: kept})
	if err != nil {
		return err
	}
	m := &nats.Msg{Subject: "$KV." + subject.Placement + "." + agent, Data: data,
		Header: nats.Header{"KV-Operation": {"DEL"}}}
	_, err = f.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(epoch))
	return err
}

// entry is the last word on a key.
type entry struct {
	value    []byte
	revision uint64 // zero where there never was one, or it has been swept away
	gone     bool   // there is nothing now
	released bool   // because whoever wrote it took it away
}

// latest looks up the last word on a key.
func (f *Fleet) latest(ctx context.Context, key string) (entry, error) {
	m, err := f.stream.GetLastMsgForSubject(ctx, "$KV."+subject.Placement+"."+key)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return entry{gone: true}, nil
	}
	if err != nil {
		return entry{}, err
	}
	e := entry{value: m.Data, revision: m.Sequence, released: m.Header.Get("KV-Operation") != ""}
	e.gone = e.released || m.Header.Get("Nats-Marker-Reason") != ""
	return e, nil
}

// watch knows for how long other workers have said nothing, and which agents they have.
type watch struct {
	fleet *Fleet
	seen  map[string]*seen
	with  map[string]found
}

// found is the worker that an agent was with when it was looked up.
type found struct {
	worker string
	until  time.Time // when it is looked up anew
}

// seen is a sign of life as it was last looked at.
type seen struct {
	revision uint64
	released bool
	since    time.Time
	looked   time.Time // for the last time
	given    uint64    // away
}

// silent is as of the last look: what has happened since is not known.
func (s *seen) silent() bool { return s.released || s.looked.Sub(s.since) >= silentFor }

func newWatch(f *Fleet) *watch { return &watch{f, map[string]*seen{}, map[string]found{}} }

// elsewhere reports whether an agent is with another worker that lives. That is known without a question for most
// agents: workers that may have the same ones would ask for nothing else otherwise.
func (w *watch) elsewhere(ctx context.Context, agent string) bool {
	was, known := w.with[agent]
	if !known || time.Now().After(was.until) {
		return false
	}
	lives, err := w.lives(ctx, was.worker)
	return err == nil && lives
}

// lives reports whether a worker is not silent. Of a worker with many agents, that is asked once for all of them.
func (w *watch) lives(ctx context.Context, worker string) (bool, error) {
	if s := w.seen[worker]; s != nil && time.Since(s.looked) < renewEvery/2 {
		return !s.silent(), nil
	}
	silent, _, err := w.silent(ctx, worker)
	return err == nil && !silent, err
}

// note remembers which other worker has an agent, for a while that is not the same for all.
func (w *watch) note(agent, worker string) {
	w.with[agent] = found{worker, time.Now().Add(lookAgain/2 + rand.N(lookAgain/2))}
}

// silent looks at a worker's sign of life, and reports whether the worker has taken it away, or not changed it for so
// long that it is not sure of its agents any more. While NATS was not reached nobody could say anything, so that counts
// for nothing. last is the sign, which the next one has to follow.
func (w *watch) silent(ctx context.Context, worker string) (silent bool, last entry, err error) {
	e, err := w.fleet.latest(ctx, subject.SignKey(worker))
	if err != nil {
		return false, entry{}, err
	}
	var says sign
	_ = json.Unmarshal(e.value, &says) // there is none where the worker has gone
	now := time.Now()
	known := w.seen[worker]
	if known == nil {
		known = &seen{given: says.Given}
		w.seen[worker] = known
	}
	if known.revision != e.revision || now.Sub(known.looked) > sureFor {
		known.revision, known.released, known.since = e.revision, e.released, now
	}
	if says.Given != known.given {
		maps.DeleteFunc(w.with, func(_ string, f found) bool { return f.worker == worker })
	}
	known.looked, known.given = now, says.Given
	return known.silent(), e, nil
}
