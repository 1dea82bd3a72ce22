package schedule

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Options say what a scheduler works with.
type Options struct {
	Store *Store
	// Run runs a job and returns what it had to say. It ends soon after ctx is done: its slot is taken until then.
	Run func(ctx context.Context, job Job) (text string, err error)
	// Deliver, if not nil, is told of what runs had to say: of all but heartbeats with nothing to say.
	Deliver func(Record)
	// Held, if not nil, reports whether nothing shall run now. What is due meanwhile is missed.
	Held     func() bool
	Settings Settings
	// Parallel is how many jobs may run at once; 0 for 8.
	Parallel int
	// Grace is how long runs may go on after the scheduler was told to end.
	Grace time.Duration
	// Now is the clock on the wall, which may be set; nil for that of the machine.
	Now    func() time.Time
	Logger hclog.Logger // nil for none
}

// Settings are what can be changed while a scheduler runs.
type Settings struct {
	Timeout      time.Duration // of runs of jobs that have none of their own, and of heartbeats; 0 for none
	AllowCommand bool          // jobs may run commands
	NoJobs       bool          // only heartbeats are run; what is due meanwhile is missed
	Heartbeat    time.Duration // the interval; 0 for no heartbeats
}

// poll is how long a change of the file, or of the clock, may go unnoticed.
const poll = time.Second

// errEnded is why runs end with the scheduler.
var errEnded = errors.New("picoclaw was stopped")

// Scheduler runs the jobs of one store when they are due. No other may do so at the same time.
type Scheduler struct {
	o     Options
	slots chan struct{} // one is taken by each run
	runs  sync.WaitGroup

	mu       sync.Mutex
	settings Settings
	running  map[string]*run
	ended    map[string]Record // whose outcome is not in the file yet

	// of the loop alone
	beat   Job         // the heartbeat
	seen   fs.FileInfo // the version of the file that is known; nil for none
	known  bool        // the file has been read
	next   int64       // when the first job is due, in Unix milliseconds; 0 for never
	turned int64       // when it has last looked for that
	said   string      // the last complaint
}

// run is one that goes on.
type run struct{ overlapped bool }

// New makes a scheduler. Nothing happens before Run.
func New(o Options) *Scheduler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	return &Scheduler{o: o, slots: make(chan struct{}, o.Parallel), settings: o.Settings,
		running: map[string]*run{}, ended: map[string]Record{}}
}

// Set changes the settings. Runs that go on keep theirs.
func (s *Scheduler) Set(settings Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = settings
}

func (s *Scheduler) set() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings
}

// Run runs what is due until ctx is done, and returns when the last run has ended. It can be called once.
func (s *Scheduler) Run(ctx context.Context) {
	work, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	s.beat = Job{ID: HeartbeatID, Name: HeartbeatID, Schedule: Schedule{Kind: Every}, Payload: Payload{Kind: Beat},
		State: State{NextRunAtMs: s.o.Now().Add(firstBeat).UnixMilli()}}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-timer.C:
			timer.Reset(s.turn(work))
		case <-ctx.Done():
		}
	}
	grace := time.AfterFunc(s.o.Grace, func() { end(errEnded) })
	s.runs.Wait()
	grace.Stop()
	s.complain(s.write(nil))
}

// now has no monotonic clock in it, which would not know that the other was set.
func (s *Scheduler) now() int64 { return s.o.Now().UnixMilli() }

// turn starts what is due, and returns how long nothing is, as far as is known.
func (s *Scheduler) turn(work context.Context) time.Duration {
	if s.o.Held != nil && s.o.Held() {
		return poll
	}
	s.heartbeat(work)
	now := s.now()
	setBack := now < s.turned
	s.turned = now
	if s.set().NoJobs {
		return poll
	}
	if setBack || s.changed() || s.next > 0 && s.next <= now {
		err := s.write(work)
		s.complain(err)
		if err != nil {
			return poll
		}
	}
	wait := poll
	for _, next := range []int64{s.next, s.beat.State.NextRunAtMs} {
		if until := time.Duration(next-s.now()) * time.Millisecond; next > 0 && until < wait {
			wait = max(until, 0)
		}
	}
	return wait
}

// changed reports whether the file is another than the one that is known, or lacks something.
func (s *Scheduler) changed() bool {
	s.mu.Lock()
	pending := len(s.ended)
	s.mu.Unlock()
	if pending > 0 || !s.known {
		return true
	}
	info, err := os.Stat(s.o.Store.path())
	if err != nil || s.seen == nil {
		return !errors.Is(err, fs.ErrNotExist) || s.seen != nil
	}
	return !os.SameFile(info, s.seen) || !info.ModTime().Equal(s.seen.ModTime()) || info.Size() != s.seen.Size()
}

// complain logs what goes wrong, and not the same each second.
func (s *Scheduler) complain(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != s.said {
		s.o.Logger.Error("the schedule is not kept", "error", text)
	}
	s.said = text
}
