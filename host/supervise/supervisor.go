package supervise

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// The defaults of Options.
const (
	DefaultStartTimeout = 10 * time.Second
	DefaultStopTimeout  = 5 * time.Second
	DefaultIdleTimeout  = 10 * time.Minute

	DefaultHealthInterval = 10 * time.Second
)

// launcher starts processes in a sandbox; *isolation.Isolation is one.
type launcher interface {
	Start(cmd *exec.Cmd, p isolation.Profile) (*isolation.Process, error)
}

// Options configure a supervisor.
type Options struct {
	Isolation launcher
	// RunDir is where socket directories are made, below the instance root.
	RunDir string
	// CrashDir is where crashes are noted; empty to note none.
	CrashDir string
	// CacheDir is where it is kept which binaries are what their manifest says; empty to ask at each start.
	CacheDir     string
	Logger       hclog.Logger
	StartTimeout time.Duration // from starting a process to its first answer
	StopTimeout  time.Duration // for an instance to finish its calls when it is stopped
	IdleTimeout  time.Duration // after its last call an instance that runs nothing in the background is stopped

	HealthInterval time.Duration // how often a process is asked during a call whether it is still there

	// Started and Ended, if not nil, are told of each start of a plugin, and of the end of each that did start.
	Started func(plugin string, took time.Duration, err error)
	Ended   func(plugin string, crashed bool)
}

// Supervisor owns the instances of one host. It may be used concurrently.
type Supervisor struct {
	options Options
	sockets *socketDir
	copies  copies
	crashes *crashes
	known   recognised

	mu        sync.Mutex
	closed    bool
	instances map[string]*slot
	stirred   chan struct{} // closed when an instance is idle or gone; nil if nobody waits for that

	filling sync.WaitGroup // the lives of instances, to the note of how each ended
	retired sync.WaitGroup // instances that are being stopped while the host goes on
}

// slot is the place of one instance. Whoever finds it waits for the same start.
type slot struct {
	owner    string
	ready    chan struct{}
	instance *instance // set before ready is closed, unless err is
	err      error
}

// ended reports whether the slot's instance is over. Whoever was told that it has crashed must get another one, even
// before the slot has been freed.
func (sl *slot) ended() bool {
	select {
	case <-sl.ready:
	default:
		return false
	}
	if sl.instance == nil {
		return true
	}
	select {
	case <-sl.instance.done():
		return true
	default:
		return false
	}
}

// New makes a supervisor, and clears away what hosts that were killed have left in its run directory.
func New(o Options) (*Supervisor, error) {
	if o.StartTimeout == 0 {
		o.StartTimeout = DefaultStartTimeout
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = DefaultStopTimeout
	}
	if o.HealthInterval == 0 {
		o.HealthInterval = DefaultHealthInterval
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = DefaultIdleTimeout
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Started == nil {
		o.Started = func(string, time.Duration, error) {}
	}
	if o.Ended == nil {
		o.Ended = func(string, bool) {}
	}
	return &Supervisor{
		options:   o,
		sockets:   &socketDir{parent: o.RunDir, logger: o.Logger},
		crashes:   &crashes{dir: o.CrashDir, now: time.Now},
		known:     recognised{dir: o.CacheDir},
		instances: make(map[string]*slot),
	}, nil
}

// Outcome is how a call ended.
type Outcome struct {
	Result *pluginpb.Result
	// Started says that this call had to start the instance, and how long that took.
	Started time.Duration
}

// Call runs a tool in the instance that spec describes, which it starts if need be. The error is about
// the way there, the result about the tool.
func (s *Supervisor) Call(ctx context.Context, spec *Spec, req *pluginpb.CallRequest, to Listener) (*Outcome, error) {
	began := time.Now()
	in, started, err := s.instance(ctx, spec)
	if err != nil {
		return nil, err
	}
	out := &Outcome{}
	if started {
		out.Started = time.Since(began)
	}
	defer s.leave(in)
	if to.Ready != nil {
		to.Ready()
	}
	out.Result, err = in.call(ctx, req, to)
	if crash := (*CrashError)(nil); errors.As(err, &crash) {
		crash.Last = s.wasLast(in)
	}
	return out, err
}

// wasLast reports whether a crash was one too many for its plugin, once it is noted. That is not waited for long.
func (s *Supervisor) wasLast(in *instance) bool {
	select {
	case <-in.noted:
	case <-time.After(stopGrace):
	}
	_, err := s.crashes.delay(in.spec.Manifest.ID, in.spec.Digest, in.spec.rights)
	var failed *Failed
	return errors.As(err, &failed)
}

// instance returns the running instance of a spec, with one call more under way: leave takes that back. One caller
// starts it, the others wait for that start.
func (s *Supervisor) instance(ctx context.Context, spec *Spec) (in *instance, started bool, err error) {
	key, err := spec.Key()
	if err != nil {
		return nil, false, err
	}
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, false, errors.New("the host is stopping")
		}
		sl := s.instances[key]
		if sl == nil || sl.ended() {
			if s.full(spec) {
				s.mu.Unlock()
				if err := s.makeRoom(ctx, spec); err != nil {
					return nil, false, err
				}
				continue
			}
			sl = &slot{owner: spec.Owner, ready: make(chan struct{})}
			s.instances[key] = sl
			started = true
			s.filling.Go(func() { s.fill(key, sl, spec) })
		}
		s.mu.Unlock()
		select {
		case <-sl.ready:
		case <-ctx.Done():
			return nil, started, fmt.Errorf("plugin %s is still starting: %w", spec.Manifest.ID, ctx.Err())
		}
		if sl.err != nil {
			return nil, started, sl.err
		}
		if s.enter(sl.instance) {
			return sl.instance, started, nil
		}
	}
}

// fill starts an instance for a slot and frees the slot when the instance has ended, so that the next call starts
// another.
func (s *Supervisor) fill(key string, sl *slot, spec *Spec) {
	began := time.Now()
	sl.instance, sl.err = s.startInTurn(spec)
	s.options.Started(spec.Manifest.ID, time.Since(began), sl.err)
	if sl.err != nil {
		s.free(key, sl)
		close(sl.ready)
		return
	}
	sl.instance.giveUp = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.retire(key, sl)
	}
	close(sl.ready)
	s.watch(key, sl)
	crash := sl.instance.crash()
	if crash != nil {
		s.note(spec, crash)
	}
	s.options.Ended(spec.Manifest.ID, crash != nil)
	close(sl.instance.noted)
	s.free(key, sl)
	sl.instance.cleanUp()
}

// startInTurn starts an instance, after a while if its plugin has crashed more than once lately.
func (s *Supervisor) startInTurn(spec *Spec) (*instance, error) {
	wait, err := s.crashes.delay(spec.Manifest.ID, spec.Digest, spec.rights)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		s.options.Logger.Warn("a plugin that has crashed is not started at once", "plugin", spec.Manifest.ID, "wait", wait)
		time.Sleep(wait)
	}
	in, err := s.start(spec)
	if broken, ok := errors.AsType[*startError](err); ok && broken.ran {
		s.note(spec, err)
	}
	return in, err
}

// note notes a crash.
func (s *Supervisor) note(spec *Spec, how error) {
	if s.options.CrashDir == "" {
		return
	}
	if err := s.crashes.note(spec.Manifest.ID, spec.Digest, spec.rights, how.Error()); err != nil {
		s.options.Logger.Warn("a plugin's crash could not be noted", "plugin", spec.Manifest.ID, "error", err)
	}
}

func (s *Supervisor) free(key string, sl *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instances[key] == sl {
		delete(s.instances, key)
	}
	s.stir()
}

// Close stops every instance: those with calls under way get until ctx is done, or the stop timeout, to finish.
func (s *Supervisor) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	slots := maps.Clone(s.instances)
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, s.options.StopTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for key, sl := range slots {
		wg.Go(func() {
			<-sl.ready // a start has a deadline of its own
			if sl.instance == nil {
				return
			}
			s.mu.Lock()
			s.retire(key, sl)
			s.mu.Unlock()
			sl.instance.stop(ctx)
		})
	}
	wg.Wait()
	s.settle()
	return s.sockets.close()
}

// settle waits until it is noted how every instance has ended, but not for long: a process that can't be ended must not
// keep its host from ending.
func (s *Supervisor) settle() {
	settled := make(chan struct{})
	go func() {
		s.retired.Wait()
		s.filling.Wait()
		close(settled)
	}()
	select {
	case <-settled:
	case <-time.After(stopGrace):
		s.options.Logger.Warn("a plugin process is not gone yet")
	}
}

// Running lists the process ids of the running instances by plugin id.
func (s *Supervisor) Running() map[string][]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := make(map[string][]int)
	for _, sl := range s.instances {
		select {
		case <-sl.ready:
			if sl.instance != nil {
				id := sl.instance.spec.Manifest.ID
				running[id] = append(running[id], sl.instance.runner.process.Load().Pid())
			}
		default:
		}
	}
	return running
}
