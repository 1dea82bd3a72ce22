package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// place says who has an agent. Its epoch is the revision of its entry.
type place struct {
	envelope
	Worker   string `json:"worker"`
	Instance string `json:"instance"`
	epoch    uint64
}

// ErrNowhere is the error of an agent that no worker has.
var ErrNowhere = errors.New("no worker has it")

// where looks up who has an agent.
func (f *Fleet) where(ctx context.Context, agent string) (*place, error) {
	entry, err := f.placement.Get(ctx, agent)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, ErrNowhere
	}
	if err != nil {
		return nil, err
	}
	return readPlace(entry)
}

func readPlace(entry jetstream.KeyValueEntry) (*place, error) {
	p := &place{epoch: entry.Revision()}
	if err := json.Unmarshal(entry.Value(), p); err != nil {
		return nil, fmt.Errorf("what the fleet says of agent %s can't be read: %w", entry.Key(), err)
	}
	return p, p.check()
}

// take makes an agent that of a worker's life, if before is still what stands there; nil for nothing. The epoch is
// larger than any that the agent has had.
func (f *Fleet) take(ctx context.Context, agent string, l *lease, before *place) (epoch uint64, err error) {
	data, err := json.Marshal(place{envelope: sealed(), Worker: l.worker, Instance: l.instance})
	if err != nil {
		return 0, err
	}
	if before == nil {
		return f.placement.Create(ctx, agent, data)
	}
	return f.placement.Update(ctx, agent, data, before.epoch)
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
	m, err := f.stream.GetLastMsgForSubject(ctx, "$KV."+PlacementBucket+"."+key)
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

// watch knows for how long other workers have said nothing.
type watch struct {
	fleet *Fleet
	seen  map[string]*seen
}

type seen struct {
	revision uint64
	since    time.Time
}

func newWatch(f *Fleet) *watch { return &watch{f, map[string]*seen{}} }

// silent looks at a worker's sign of life, and reports whether the worker has taken it away, or not changed it for so
// long that it is not sure of its agents any more. last is the sign, which the next one has to follow.
func (w *watch) silent(ctx context.Context, worker string) (silent bool, last entry, err error) {
	e, err := w.fleet.latest(ctx, signKey(worker))
	if err != nil {
		return false, entry{}, err
	}
	known := w.seen[worker]
	if known == nil || known.revision != e.revision {
		known = &seen{e.revision, time.Now()}
		w.seen[worker] = known
	}
	return e.released || time.Since(known.since) >= silentFor, e, nil
}

// Placed is what is known of one agent's place.
type Placed struct {
	Agent  string `json:"agent"`
	Worker string `json:"worker"`
	Epoch  uint64 `json:"epoch"`
	Alive  bool   `json:"alive"` // its worker has given a sign of life not long ago
}

// Sign is a worker's sign of life.
type Sign struct {
	Worker  string `json:"worker"`
	Version string `json:"version"`
	Agents  int    `json:"agents"`
	Running int    `json:"running"`
}

// Status is the fleet as its bucket has it: the workers that live, and the agents, sorted by name.
func (f *Fleet) Status(ctx context.Context) (workers []Sign, agents []Placed, err error) {
	all, err := f.placement.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, nil, fmt.Errorf("look at the fleet's bucket %s: %w", PlacementBucket, err)
	}
	defer func() { _ = all.Stop() }()
	living := map[string]string{} // a worker's instance
	instances := map[string]string{}
	for entry := range all.Updates() {
		if entry == nil { // that was all
			break
		}
		if strings.HasPrefix(entry.Key(), signKey("")) {
			var s sign
			if json.Unmarshal(entry.Value(), &s) == nil {
				living[s.Worker] = s.Instance
				workers = append(workers, Sign{s.Worker, s.Version, s.Agents, s.Running})
			}
			continue
		}
		p, err := readPlace(entry)
		if err != nil {
			return nil, nil, err
		}
		agents = append(agents, Placed{Agent: entry.Key(), Worker: p.Worker, Epoch: p.epoch})
		instances[entry.Key()] = p.Instance
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	for i := range agents {
		agents[i].Alive = living[agents[i].Worker] == instances[agents[i].Agent]
	}
	slices.SortFunc(workers, func(a, b Sign) int { return strings.Compare(a.Worker, b.Worker) })
	slices.SortFunc(agents, func(a, b Placed) int { return strings.Compare(a.Agent, b.Agent) })
	return workers, agents, nil
}
