package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// Placed is what is known of one agent's place.
type Placed struct {
	Agent  string `json:"agent"`
	Worker string `json:"worker"`
	Epoch  uint64 `json:"epoch"`
	From   string `json:"from,omitempty"`  // its workspace is on its way from there
	Alive  bool   `json:"alive"`           // its worker has given a sign of life not long ago
	Fault  string `json:"fault,omitempty"` // why its entry can't be read
}

// Sign is the part of a worker's sign of life that people see.
type Sign struct {
	Worker  string `json:"worker"`
	Version string `json:"version"` // of its picoclaw
	Agents  int    `json:"agents"`
	Running int    `json:"running"`
	Drained bool   `json:"drained,omitempty"`
	Config  uint64 `json:"config,omitempty"` // the number of the fleet's configuration that it has
	Fault   string `json:"fault,omitempty"`  // why it has not taken the last one
}

// lookups is how many entries are looked up at once.
const lookups = 16

// Status is the fleet as its bucket has it: the workers that live, and the agents, sorted by name.
func (f *Fleet) Status(ctx context.Context) (workers []Sign, agents []Placed, err error) {
	entries, now, err := f.entries(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the fleet's bucket %s: %w", subject.Placement, err)
	}
	living := map[string]string{} // a worker's instance
	for key, m := range entries {
		if _, is := strings.CutPrefix(key, subject.SignKey("")); !is || now.Sub(m.Time) >= silentFor {
			continue
		}
		var s sign
		if json.Unmarshal(m.Data, &s) == nil && key == subject.SignKey(s.Worker) {
			living[s.Worker] = s.Instance
			workers = append(workers, s.Sign)
		}
	}
	for key, m := range entries {
		if strings.HasPrefix(key, subject.SignKey("")) {
			continue
		}
		placed, p := Placed{Agent: key, Epoch: m.Sequence}, &place{}
		if err := errors.Join(json.Unmarshal(m.Data, p), p.check()); err != nil {
			placed.Fault = err.Error()
		} else {
			life, lives := living[p.Worker]
			placed.Worker, placed.Alive = p.Worker, lives && (p.Sent != nil || life == p.Instance)
		}
		if p.Sent != nil {
			placed.From = p.Sent.From
		}
		agents = append(agents, placed)
	}
	slices.SortFunc(workers, func(a, b Sign) int { return strings.Compare(a.Worker, b.Worker) })
	slices.SortFunc(agents, func(a, b Placed) int { return strings.Compare(a.Agent, b.Agent) })
	return workers, agents, nil
}

// entries are the last words on all keys that have not been taken away, and what time it was at the server.
func (f *Fleet) entries(ctx context.Context) (map[string]*jetstream.RawStreamMsg, time.Time, error) {
	info, err := f.stream.Info(ctx, jetstream.WithSubjectFilter("$KV."+subject.Placement+".>"))
	if err != nil {
		return nil, time.Time{}, err
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	found, failed, free := map[string]*jetstream.RawStreamMsg{}, error(nil), make(chan struct{}, lookups)
	for of := range info.State.Subjects {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			m, err := f.stream.GetLastMsgForSubject(ctx, of)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, jetstream.ErrMsgNotFound): // it has expired meanwhile
			case err != nil:
				failed = err
			case m.Header.Get("KV-Operation") == "":
				found[strings.TrimPrefix(of, "$KV."+subject.Placement+".")] = m
			}
		})
	}
	all.Wait()
	return found, info.TimeStamp, failed
}
