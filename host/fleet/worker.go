package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/filelock"
)

// Host opens the sessions in which calls are made, of the origins cli and mcp; [*session.Host] is one.
type Host interface {
	OpenSession(agent string, origin session.Origin) (*session.Session, error)
}

// WorkerOptions are what a worker serves.
type WorkerOptions struct {
	Name   string   // in the fleet; no other worker has it
	Agents []string // those that it takes when nobody has them; [Worker.Renew] has others
	Home   string   // the instance root, where the journals are
	Host   Host
	// Describe says what a model is told of where it is.
	Describe func(*session.Session) string
	// Workspace is where an agent's workspace is, or says why it can't be moved; nil where none can.
	Workspace func(agent string) (dir string, err error)
	// Idle, if not nil, is told when the worker is in the fleet and has got no agent at its first try.
	Idle func()
	// Changes says that agents' tools may be others than before.
	Changes <-chan struct{}
	Version string
	Drain   time.Duration // how long what runs may go on at the end
	Logger  hclog.Logger
}

// Worker serves the agents of one machine to a fleet.
type Worker struct {
	fleet   *Fleet
	options WorkerOptions
	log     hclog.Logger
	lock    *os.File
	uploads chan struct{} // how many calls may be coming in several messages
	orders  chan *nats.Msg
	journal map[string]*journal // by agent, for all lives
	boot    string
	given   atomic.Uint64 // number of agents moved to other workers since the start

	mu      sync.Mutex
	current *generation
	agents  []string
	served  map[string]*served // by agent, those that it has
	left    map[string]*served // those that it has given away
	added   map[string]bool    // agents with endpoints in this life
	busy    map[string]bool    // agents about which something is being done
	moves   map[string]*move
	states  map[string]string // of moves
	why     map[string]string // moves have come to nothing, by agent
	drained bool
	config  uint64 // the number of the fleet's configuration
	fault   string
}

// life is one life of a worker.
type life struct {
	*lease
	ctx   context.Context // of what is done about agents beside all else
	going sync.WaitGroup
}

// NewWorker makes a worker. One runs on an instance root.
func NewWorker(f *Fleet, o WorkerOptions) (*Worker, error) {
	if !tokenPattern().MatchString(o.Name) {
		return nil, fmt.Errorf("%q is no name of a worker: letters, digits, _ and -, at most 64", o.Name)
	}
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	dir := filepath.Join(o.Home, "fleet")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := filelock.OpenLocked(filepath.Join(dir, "lock"), filelock.Lock)
	if errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf("another worker runs on %s; stop it first, or set PICOCLAW_HOME to another directory", o.Home)
	}
	if err != nil {
		return nil, err
	}
	w := &Worker{fleet: f, options: o, log: o.Logger, lock: lock, uploads: make(chan struct{}, maxUploads),
		orders: make(chan *nats.Msg), journal: map[string]*journal{}, boot: bootID(),
		current: &generation{host: o.Host}, agents: o.Agents, busy: map[string]bool{}, moves: map[string]*move{},
		states: map[string]string{}, why: map[string]string{}}
	if err := w.readMoves(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return w, nil
}

// Run serves until ctx is done. What runs then has some time, and the agents are free for others after that. ready, if
// not nil, is told each time that the worker has taken an agent.
func (w *Worker) Run(ctx context.Context, ready func(agent string)) (err error) {
	defer func() {
		for _, j := range w.journal {
			err = errors.Join(err, j.close())
		}
		err = errors.Join(err, w.lock.Close())
	}()
	for ctx.Err() == nil {
		if err := w.live(ctx, ready); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// live is one life of the worker: until ctx is done, or it can't be sure of its agents any more.
func (w *Worker) live(ctx context.Context, ready func(agent string)) error {
	instance, ended, err := w.instance()
	if err != nil {
		return err
	}
	hearing, deaf := context.WithCancel(ctx)
	defer deaf()
	orders, err := w.hears(hearing)             // before others can see that the worker is there
	if err != nil && !w.fleet.conn.IsClosed() { // of which begin says more
		return fmt.Errorf("serve: %w", err)
	}
	defer func() { _ = orders.Unsubscribe() }()
	lease, err := begin(ctx, w.fleet, w.sign, instance, ended,
		func(err error) { w.log.Warn("not in the fleet yet", "error", err) })
	if err != nil {
		return err
	}
	l := &life{lease: lease}
	var halt context.CancelFunc
	l.ctx, halt = context.WithCancel(lease)
	defer func() { halt(); l.going.Wait() }()
	service, err := micro.AddService(w.fleet.conn, micro.Config{Name: "picoclaw", Version: "1.0.0",
		Description: "picoclaw worker " + w.options.Name, QueueGroupDisabled: true,
		Metadata: map[string]string{"worker": w.options.Name, "version": w.options.Version}})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	w.mu.Lock()
	w.served, w.left, w.added = map[string]*served{}, map[string]*served{}, map[string]bool{}
	w.mu.Unlock()
	var subs []*nats.Subscription
	defer func() {
		_ = service.Stop()
		for _, s := range subs {
			_ = s.Unsubscribe()
		}
		_ = w.fleet.conn.FlushTimeout(sureFor) // callers are told that nobody listens from now on
	}()
	others, told := newWatch(w.fleet), map[string]string{}
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		for _, agent := range w.wanted(l) {
			got, more, err := w.try(l, service, others, agent)
			subs = append(subs, more...)
			if reached := w.fleet.Reached(); err != nil && reached != nil {
				err = reached
			}
			if err != nil && l.sure() && told[agent] != err.Error() {
				told[agent] = err.Error()
				w.log.Warn("an agent can't be taken yet", "agent", agent, "error", err)
			}
			if got && ready != nil {
				ready(agent)
			}
		}
		if first && w.options.Idle != nil && w.idle() {
			w.options.Idle()
		}
		select {
		case <-ctx.Done():
			halt()
			l.going.Wait()
			w.leave(l.lease)
			return nil
		case <-l.Done():
			w.log.Warn("the worker is not sure of its agents any more, and serves none until it is",
				"error", context.Cause(l))
			w.quit()
			return nil
		case m := <-w.orders:
			w.obey(l, m)
		case <-w.options.Changes:
			w.tellChanged()
		case <-tick.C:
		}
	}
}

// instance names a new life of the worker, and the one before it. That one has ended, or this one did not have the
// lock: the name is in its file.
func (w *Worker) instance() (now, before string, err error) {
	was := make([]byte, 64)
	n, err := w.lock.ReadAt(was, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", "", err
	}
	now = rand.Text()
	_, err = w.lock.WriteAt([]byte(now), 0) // they are of one length
	return now, string(was[:n]), err
}

// try takes an agent that nobody has, and reports whether it has got it.
func (w *Worker) try(l *life, service micro.Service, others *watch, agent string) (got bool, subs []*nats.Subscription,
	err error) {
	w.mu.Lock()
	has, busy, why := w.served[agent] != nil, w.busy[agent], w.why[agent]
	w.mu.Unlock()
	if has || busy || !l.sure() {
		return false, nil, nil
	}
	ctx, cancel := context.WithTimeout(l, renewEvery)
	defer cancel()
	if w.moveOf(agent) == nil && others.elsewhere(ctx, agent) {
		return false, nil, nil
	}
	before, err := w.fleet.last(ctx, agent)
	if err != nil {
		return false, nil, err
	}
	if may, settleErr := w.settle(ctx, l, agent, before, others); settleErr != nil || !may {
		return false, nil, settleErr
	}
	// Of an earlier life of its own, it is the heir.
	if before != nil && !before.left && before.Worker != w.options.Name && before.Sent == nil {
		if lives, lookErr := others.lives(ctx, before.Worker); lookErr != nil || lives {
			others.note(agent, before.Worker)
			return false, nil, lookErr
		}
	}
	j := w.journal[agent]
	if j == nil {
		if j, err = openJournal(filepath.Join(w.options.Home, "fleet", "journal", agent), w.boot); err != nil {
			return false, nil, err
		}
		w.journal[agent] = j
	}
	if why == "" && before != nil && before.Sent != nil && before.Worker != w.options.Name {
		why = "the worker " + before.Worker + " is silent"
	}
	kept := w.kept(agent, before)
	if err = j.ready(); err != nil {
		if before != nil && before.Worker == w.options.Name && before.Sent == nil && !before.left {
			err = errors.Join(err, w.fleet.leave(ctx, agent, before.Worker, kept, before.epoch)) // another worker may have room for it
		}
		return false, nil, err
	}
	epoch, err := w.fleet.take(ctx, agent, l.lease, before, kept, why[:min(len(why), mostWhy)])
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return false, nil, nil // somebody was faster
	}
	if err != nil {
		return false, nil, err
	}
	if err = errors.Join(j.took(tenure{epoch, l.instance}), w.settled(agent)); err != nil {
		return false, nil, err
	}
	s := &served{worker: w, lease: l.lease, agent: agent, epoch: epoch, kept: kept, since: time.Now(), journal: j,
		running: map[string]*running{}, coming: map[string]*upload{}, sessions: map[session.Origin]openSession{}}
	w.mu.Lock()
	w.served[agent] = s
	delete(w.why, agent)
	added := w.added[agent]
	w.added[agent] = true
	w.mu.Unlock()
	if !added {
		if subs, err = w.endpoints(service, agent); err != nil {
			return false, subs, err
		}
		_ = w.fleet.conn.FlushWithContext(ctx) // NATS brings its calls before it is said to be served
	}
	w.log.Info("the worker has an agent", "agent", agent, "epoch", epoch)
	_ = w.fleet.conn.Publish(w.fleet.changed(agent), nil) // who has missed it finds out at its next call
	return true, subs, nil
}

// endpoints has what comes for an agent handled. They stay for this life of the worker: what comes when it does not
// have the agent is not answered.
func (w *Worker) endpoints(service micro.Service, agent string) (subs []*nats.Subscription, err error) {
	type handlers map[string]func(s *served, data []byte, to string)
	for verb, handle := range (handlers{subject.Call: (*served).onCall, subject.Tools: (*served).onTools}) {
		err := service.AddEndpoint(verb, micro.HandlerFunc(func(r micro.Request) {
			if s := w.has(agent); s != nil {
				handle(s, r.Data(), r.Reply())
			}
		}), micro.WithEndpointSubject(w.fleet.to(agent, verb)),
			micro.WithEndpointMetadata(map[string]string{"agent": agent}))
		if err != nil {
			return nil, fmt.Errorf("serve agent %s: %w", agent, err)
		}
	}
	for verb, handle := range (handlers{subject.Cancel: (*served).onCancel, subject.Credit: (*served).onCredit}) {
		sub, err := w.fleet.conn.Subscribe(w.fleet.to(agent, verb), func(m *nats.Msg) {
			if s := w.has(agent); s != nil {
				handle(s, m.Data, m.Reply)
			}
		})
		if err != nil {
			return subs, fmt.Errorf("serve agent %s: %w", agent, err)
		}
		subs = append(subs, sub)
	}
	return subs, nil
}

// has returns what is served of an agent, nil for one that the worker may not serve now.
func (w *Worker) has(agent string) *served {
	w.mu.Lock()
	s := cmp.Or(w.served[agent], w.left[agent])
	w.mu.Unlock()
	if s == nil || !s.lease.sure() {
		return nil
	}
	return s
}

// sign is what the worker says of itself.
func (w *Worker) sign() sign {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := sign{Given: w.given.Load(), Sign: Sign{Worker: w.options.Name, Version: w.options.Version, Agents: len(w.served),
		Drained: w.drained, Config: w.config, Fault: w.fault}}
	for _, one := range w.served {
		s.Running += one.busy()
	}
	return s
}

// tellChanged tells callers that agents' tools may be others.
func (w *Worker) tellChanged() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for agent := range w.served {
		_ = w.fleet.conn.Publish(w.fleet.changed(agent), nil)
	}
}

// leave takes no call any more, lets what runs have its time, and gives the agents away.
func (w *Worker) leave(l *lease) {
	w.mu.Lock()
	all := maps.Clone(w.served)
	w.mu.Unlock()
	for _, s := range all { // each may wait for its journal, and the sign of life for none
		s.close()
	}
	ctx, cancel := context.WithTimeout(l, w.options.Drain)
	defer cancel()
	for _, s := range all {
		for s.busy() > 0 && wait(ctx, renewEvery/10) == nil {
		}
	}
	w.quit()
	soon, cancel := context.WithTimeout(context.WithoutCancel(l), sureFor)
	defer cancel()
	for _, s := range all {
		_ = w.fleet.leave(soon, s.agent, w.options.Name, s.kept, s.epoch) // or another one waits for silence
	}
	l.end(soon)
}

// quit ends all that runs, and returns when it has ended.
func (w *Worker) quit() {
	w.mu.Lock()
	all := w.served
	w.served = map[string]*served{}
	w.mu.Unlock()
	for _, s := range all {
		s.end()
	}
}
