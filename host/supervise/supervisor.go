package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
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

// processLauncher starts processes in a sandbox; *isolation.Starter implements it.
type processLauncher interface {
	Start(cmd *exec.Cmd, p isolation.Profile) (*isolation.Process, error)
}

// Options configures a supervisor.
type Options struct {
	Isolation processLauncher
	// RunDir is the parent of socket directories.
	RunDir string
	// CrashDir stores crash counts; empty to store none.
	CrashDir string
	// CacheDir stores which binaries match their manifest; empty to check at each start.
	CacheDir     string
	Logger       hclog.Logger
	StartTimeout time.Duration // from the start of a process to its first response
	StopTimeout  time.Duration // for calls in progress when an instance stops
	IdleTimeout  time.Duration // after the last call of an instance

	HealthInterval time.Duration // interval of health checks during a call

	// OnStart, if not nil, is called after each start of a plugin; OnEnd when a started plugin ends.
	OnStart func(plugin string, took time.Duration, err error)
	OnEnd   func(plugin string, crashed bool)
}

// Supervisor owns the instances of one host. It is safe for concurrent use.
type Supervisor struct {
	options  Options
	sockets  *socketDir
	copies   verifiedPluginCopies
	crashes  *crashStore
	verified verifiedDigests

	mu         sync.Mutex
	closed     bool
	instances  map[string]*sharedInstance
	roomSignal chan struct{} // closed when an instance becomes idle or ends; nil without waiters

	lifecycles sync.WaitGroup // goroutines that follow instances until their end is recorded
	stops      sync.WaitGroup // instances that stop while the host continues
}

// sharedInstance holds the instance of one spec. All callers wait for the same start.
type sharedInstance struct {
	owner    string
	started  chan struct{}
	instance *pluginInstance // valid once started is closed, unless err is set
	err      error
}

// hasEnded reports whether the instance has ended. Callers then get a new instance even before removeSharedInstance.
func (sl *sharedInstance) hasEnded() bool {
	select {
	case <-sl.started:
	default:
		return false
	}
	if sl.instance == nil {
		return true
	}
	select {
	case <-sl.instance.exitChannel():
		return true
	default:
		return false
	}
}

// New returns a supervisor.
func New(o Options) (*Supervisor, error) {
	o.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	o.StopTimeout = cmp.Or(o.StopTimeout, DefaultStopTimeout)
	o.HealthInterval = cmp.Or(o.HealthInterval, DefaultHealthInterval)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, DefaultIdleTimeout)
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.OnStart == nil {
		o.OnStart = func(string, time.Duration, error) {}
	}
	if o.OnEnd == nil {
		o.OnEnd = func(string, bool) {}
	}
	return &Supervisor{
		options:   o,
		sockets:   &socketDir{parent: o.RunDir, logger: o.Logger},
		crashes:   &crashStore{dir: o.CrashDir, now: time.Now},
		verified:  verifiedDigests{dir: o.CacheDir},
		instances: make(map[string]*sharedInstance),
	}, nil
}

// Call calls a tool in the instance of a spec, and starts the instance if necessary. The result includes errors of the
// tool. The error reports that the plugin could not be called.
func (s *Supervisor) Call(ctx context.Context, spec *InstanceSpec, req *pluginpb.CallRequest, listener CallCallbacks) (*pluginpb.Result, error) {
	in, err := s.acquireInstance(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer s.releaseInstance(in)
	if listener.Ready != nil {
		listener.Ready()
	}
	result, err := in.callTool(ctx, req, listener)
	if crash := (*CrashError)(nil); errors.As(err, &crash) {
		crash.LimitReached = s.exceededCrashLimit(in)
	}
	return result, err
}

// exceededCrashLimit reports whether an instance's crash exhausted the limit. It waits briefly for the crash's record.
func (s *Supervisor) exceededCrashLimit(in *pluginInstance) bool {
	select {
	case <-in.recorded:
	case <-time.After(stopGrace):
	}
	_, err := s.crashes.startDelay(in.spec.Manifest.ID, in.spec.Digest, in.spec.rights)
	var failed *CrashLimitError
	return errors.As(err, &failed)
}

// acquireInstance returns the running instance of a spec and adds a call to it, which releaseInstance removes. The
// first caller starts the instance, and others wait for that start.
func (s *Supervisor) acquireInstance(ctx context.Context, spec *InstanceSpec) (*pluginInstance, error) {
	key, err := spec.Key()
	if err != nil {
		return nil, err
	}
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, errors.New("the host is stopping")
		}
		sl := s.instances[key]
		if sl == nil || sl.hasEnded() {
			if s.isOwnerAtLimit(spec) {
				s.mu.Unlock()
				if err := s.evictIdle(ctx, spec); err != nil {
					return nil, err
				}
				continue
			}
			sl = &sharedInstance{owner: spec.Owner, started: make(chan struct{})}
			s.instances[key] = sl
			s.lifecycles.Go(func() { s.runSharedInstance(key, sl, spec) })
		}
		s.mu.Unlock()
		select {
		case <-sl.started:
		case <-ctx.Done():
			return nil, fmt.Errorf("plugin %s is still starting: %w", spec.Manifest.ID, ctx.Err())
		}
		if sl.err != nil {
			return nil, sl.err
		}
		if !s.retireIfWorkspaceReplaced(key, sl) && s.beginCall(sl.instance) {
			return sl.instance, nil
		}
	}
}

// runSharedInstance starts an instance, waits for its end, records a crash, and removes the instance.
func (s *Supervisor) runSharedInstance(key string, sl *sharedInstance, spec *InstanceSpec) {
	start := time.Now()
	sl.instance, sl.err = s.startAfterCrashDelay(spec)
	s.options.OnStart(spec.Manifest.ID, time.Since(start), sl.err)
	if sl.err != nil {
		s.removeSharedInstance(key, sl)
		close(sl.started)
		return
	}
	sl.instance.replace = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.retireLocked(key, sl)
	}
	close(sl.started)
	s.awaitEndOrStopIdle(key, sl)
	crash := sl.instance.crashCause()
	if crash != nil {
		s.recordCrash(spec, crash)
	}
	s.options.OnEnd(spec.Manifest.ID, crash != nil)
	close(sl.instance.recorded)
	s.removeSharedInstance(key, sl)
	sl.instance.releaseResources()
}

// startAfterCrashDelay starts an instance, after a delay if its plugin has crashed repeatedly.
func (s *Supervisor) startAfterCrashDelay(spec *InstanceSpec) (*pluginInstance, error) {
	wait, err := s.crashes.startDelay(spec.Manifest.ID, spec.Digest, spec.rights)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		s.options.Logger.Warn("the start of a crashed plugin is delayed", "plugin", spec.Manifest.ID, "wait", wait)
		time.Sleep(wait)
	}
	in, err := s.startInstance(spec)
	if failed, ok := errors.AsType[*startError](err); ok && failed.processStarted {
		s.recordCrash(spec, err)
	}
	return in, err
}

func (s *Supervisor) recordCrash(spec *InstanceSpec, cause error) {
	if s.options.CrashDir == "" {
		return
	}
	if err := s.crashes.addCrash(spec.Manifest.ID, spec.Digest, spec.rights, cause.Error()); err != nil {
		s.options.Logger.Warn("a plugin's crash could not be stored", "plugin", spec.Manifest.ID, "error", err)
	}
}

// removeSharedInstance removes an instance that has ended, and wakes callers that wait for room.
func (s *Supervisor) removeSharedInstance(key string, sl *sharedInstance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instances[key] == sl {
		delete(s.instances, key)
	}
	s.wakeLimitWaiters()
}

// Close stops all instances. Running calls may finish until ctx is done or the stop timeout ends.
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
			<-sl.started // starts have a deadline
			if sl.instance == nil {
				return
			}
			s.mu.Lock()
			s.retireLocked(key, sl)
			s.mu.Unlock()
			sl.instance.stopGracefully(ctx)
		})
	}
	wg.Wait()
	s.awaitInstanceExits()
	return s.sockets.removeDir()
}

// awaitInstanceExits waits until the end of every instance is recorded. It gives up after a while: a process that can't be
// killed must not block the host.
func (s *Supervisor) awaitInstanceExits() {
	done := make(chan struct{})
	go func() {
		s.stops.Wait()
		s.lifecycles.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(stopGrace):
		s.options.Logger.Warn("a plugin process has not ended yet")
	}
}

// isOwnerAtLimit reports whether a spec's owner has the maximum number of instances. The caller holds mu.
func (s *Supervisor) isOwnerAtLimit(spec *InstanceSpec) bool {
	if spec.MaxInstances <= 0 {
		return false
	}
	n := 0
	for _, sl := range s.instances {
		if sl.owner == spec.Owner {
			n++
		}
	}
	return n >= spec.MaxInstances
}

// evictIdle stops the owner's least recently called instance that is idle and has no background work. If there is
// none, it waits for one, and returns an error when ctx is done.
func (s *Supervisor) evictIdle(ctx context.Context, spec *InstanceSpec) error {
	for {
		idle, changed := s.listEvictionCandidates(spec.Owner)
		for _, c := range idle {
			if !c.instance.hasBackgroundWork() && s.stopIfIdle(c) {
				return nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return &InstanceLimitError{spec.Owner, spec.MaxInstances, ctx.Err()}
		}
	}
}

// evictionCandidate is an instance that was idle when it was listed, and may be stopped to make room for another.
type evictionCandidate struct {
	*sharedInstance
	key      string
	lastUsed time.Time
}

// listEvictionCandidates returns an owner's idle instances, least recently called first, and a channel that is closed
// when the list may change. It omits instances that were never called.
func (s *Supervisor) listEvictionCandidates(owner string) (idle []evictionCandidate, stirred <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, sl := range s.instances {
		if sl.owner != owner {
			continue
		}
		select {
		case <-sl.started:
		default:
			continue
		}
		if in := sl.instance; in != nil && in.active == 0 && !in.lastUsed.IsZero() {
			idle = append(idle, evictionCandidate{sl, key, in.lastUsed})
		}
	}
	slices.SortFunc(idle, func(a, b evictionCandidate) int { return a.lastUsed.Compare(b.lastUsed) })
	if s.roomSignal == nil {
		s.roomSignal = make(chan struct{})
	}
	return idle, s.roomSignal
}

// stopIfIdle retires and stops an instance, unless it has been called since it was listed.
func (s *Supervisor) stopIfIdle(c evictionCandidate) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := c.instance
	if in.retired || in.active > 0 || !in.lastUsed.Equal(c.lastUsed) {
		return false
	}
	in.logger.Debug("stopped, because its owner needs another instance")
	s.retireLocked(c.key, c.sharedInstance)
	s.stops.Go(func() { s.stopWithinTimeout(in) })
	return true
}

// wakeLimitWaiters wakes callers that wait until their owner may start another instance. The caller holds mu.
func (s *Supervisor) wakeLimitWaiters() {
	if s.roomSignal != nil {
		close(s.roomSignal)
		s.roomSignal = nil
	}
}
