package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk"
)

// Team has agents give work to others. A child runs the same loop as its parent, on a session of its own, and what it
// uses is used by its parent's turn. It ends with that turn, at the latest.
type Team struct {
	o   TeamOptions
	ctx context.Context // of children that no turn bounds
	end context.CancelCauseFunc

	mu       sync.Mutex
	families map[*session.Session]*family
	running  sync.WaitGroup // children that no turn waits for
}

// TeamOptions say what children are made of.
type TeamOptions struct {
	// Limits bound the children of a session.
	Limits func(parent *session.Session) TeamLimits
	// Open opens an agent for a task: on a child session of the parent's, or where the task names another agent, on one of
	// that agent's.
	Open func(ctx context.Context, t Task) (*Member, error)
	// Allowed returns the agents whom a session may give work to by name. Nil allows none.
	Allowed func(parent *session.Session) []string
	// Until bounds what runs for a session besides, such as by an operator's stop. It may be nil.
	Until func(ctx context.Context, parent *session.Session) (context.Context, context.CancelFunc)
	// Observe is told what children do, several at once, and may be nil.
	Observe func(c Child, e Event)
	// Outlive lets children that nobody waits for run on when their parent's turn has ended. Their parent is told of their
	// results in its next turn.
	Outlive bool
}

// TeamLimits bound children. All are wanted; [DefaultTeamLimits] are to begin with.
type TeamLimits struct {
	Depth      int           // of children's children
	Concurrent int           // children of one parent at the same time
	Timeout    time.Duration // of a child
	SlotWait   time.Duration // for another child to end, where there are as many as there may be
}

// DefaultTeamLimits are the limits where nothing else is said.
func DefaultTeamLimits() TeamLimits {
	return TeamLimits{Depth: 3, Concurrent: 5, Timeout: 5 * time.Minute, SlotWait: 30 * time.Second}
}

// Task is what a child is to do.
type Task struct {
	Parent *session.Session
	Agent  string // whose work it is; empty for the parent's own
	Label  string
	Text   string
}

// Member is an agent that was opened for a task.
type Member struct {
	Agent   *Agent
	Session *session.Session // which its calls are made on
	Close   func() error     // may be nil
}

// The states of a child.
const (
	Running  = "running"
	Finished = "finished"
	Failed   = "failed"
)

// Child tells of a child.
type Child struct {
	ID, Label, Agent string
	State            string
	Text             string // its last words, or why it failed
	Began, Ended     time.Time
}

// family is a session's children.
type family struct {
	limits   TeamLimits
	depth    int // of the session, which is 0 for one that is nobody's child
	begun    int
	slots    chan struct{}
	children []*child
}

type child struct {
	Child
	task  Task
	alone bool // nobody waits for it
	told  bool // the parent knows how it ended
	stop  context.CancelCauseFunc
	done  chan struct{}
}

// keptChildren is how many children that have ended a session can still ask for.
const keptChildren = 50

var (
	errTeamEnds   = errors.New("picoclaw ends")
	errParentEnds = errors.New("its parent has ended")
)

// NewTeam makes a team.
func NewTeam(o TeamOptions) *Team {
	t := &Team{o: o, families: make(map[*session.Session]*family)}
	t.ctx, t.end = context.WithCancelCause(context.Background())
	return t
}

// Close ends all children, and waits for that.
func (t *Team) Close() {
	t.mu.Lock() // none begins any more
	t.end(errTeamEnds)
	t.mu.Unlock()
	t.running.Wait()
}

// End ends the children of a session that is not used any more, and forgets them.
func (t *Team) End(s *session.Session) {
	t.mu.Lock()
	f := t.families[s]
	delete(t.families, s)
	t.mu.Unlock()
	if f == nil {
		return
	}
	for _, c := range f.children {
		c.stop(errParentEnds)
	}
	for _, c := range f.children {
		<-c.done
	}
}

// Inbox returns what an agent's [Options] ask for: the results of children that a session has not been told of.
func (t *Team) Inbox(s *session.Session) func() []string {
	return func() []string {
		t.mu.Lock()
		defer t.mu.Unlock()
		var all []string
		if f := t.families[s]; f != nil {
			for _, c := range f.children {
				if c.alone && c.State != Running && !c.told {
					c.told = true
					all = append(all, c.report())
				}
			}
		}
		return all
	}
}

// family returns a session's; t.mu is held.
func (t *Team) family(s *session.Session) *family {
	f := t.families[s]
	if f == nil {
		limits := t.o.Limits(s)
		f = &family{limits: limits, slots: make(chan struct{}, limits.Concurrent)}
		t.families[s] = f
	}
	return f
}

// begin begins a task when there is a place for it. Where alone is set nobody waits for it, and it runs on behind.
func (t *Team) begin(ctx context.Context, task Task, alone bool) (*child, error) {
	if err := t.allowed(task); err != nil {
		return nil, err
	}
	t.mu.Lock()
	f := t.family(task.Parent)
	depth := f.depth
	t.mu.Unlock()
	if limit := f.limits.Depth; depth >= limit {
		return nil, sdk.Errorf(sdk.AccessDenied, "subagents may be %d deep, and this is one of the deepest", limit).
			WithHint("do it yourself; agents.defaults.subturn.max_depth bounds it")
	}
	if err := f.slot(ctx); err != nil {
		return nil, err
	}
	c := t.launch(ctx, f, task, alone)
	if c == nil {
		<-f.slots
		return nil, errTeamEnds
	}
	return c, nil
}

// slot takes one of the slots for children, which is waited for where there is none.
func (f *family) slot(ctx context.Context) error {
	select {
	case f.slots <- struct{}{}: // however short the wait may be
		return nil
	default:
	}
	wait := time.NewTimer(f.limits.SlotWait)
	defer wait.Stop()
	select {
	case f.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return sdk.Errorf(sdk.Timeout, "%d subagents run already, and none has ended within %s", cap(f.slots),
			f.limits.SlotWait).WithHint("wait for one by spawn_status; agents.defaults.subturn.max_concurrent and " +
			"concurrency_timeout_sec bound it")
	}
}

// allowed says why a task may not be given to the agent that it names.
func (t *Team) allowed(task Task) error {
	var names []string
	if t.o.Allowed != nil {
		names = t.o.Allowed(task.Parent)
	}
	if task.Agent == "" || slices.Contains(names, task.Agent) {
		return nil
	}
	e := sdk.Errorf(sdk.AccessDenied, "this agent may not give work to %q", task.Agent)
	if len(names) == 0 {
		return e.WithHint("subagents.allow_agents names whom it may give work to")
	}
	return e.WithHint("it may to %s; subagents.allow_agents names them", strings.Join(names, ", "))
}

// launch runs a child; it returns nil if the team has ended.
func (t *Team) launch(ctx context.Context, f *family, task Task, alone bool) *child {
	c := &child{task: task, alone: alone, done: make(chan struct{})}
	waiting := &t.running
	if parent := turnOf(ctx); alone && parent != nil && !t.o.Outlive {
		ctx, waiting = parent.ctx, &parent.children // not the call's, which ends at once
	} else if alone {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, c.stop = context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil {
		c.stop(errTeamEnds)
		return nil
	}
	f.begun++
	c.Child = Child{ID: fmt.Sprint(f.begun), Label: task.Label, Agent: task.Agent, State: Running, Began: time.Now()}
	if len(f.children) >= keptChildren {
		over := func(c *child) bool { return c.told || !c.alone && c.State != Running }
		if i := slices.IndexFunc(f.children, over); i >= 0 {
			f.children = slices.Delete(f.children, i, i+1)
		}
	}
	f.children = append(f.children, c)
	waiting.Go(func() {
		text, err := t.run(ctx, c, f)
		c.stop(nil)
		t.mu.Lock()
		c.State, c.Text, c.Ended = Finished, text, time.Now()
		if err != nil {
			c.State, c.Text = Failed, strings.TrimSpace(text+"\n"+err.Error())
		}
		t.mu.Unlock()
		<-f.slots
		close(c.done)
	})
	return c
}

// run does a task.
func (t *Team) run(ctx context.Context, c *child, of *family) (string, error) {
	defer context.AfterFunc(t.ctx, func() { c.stop(errTeamEnds) })()
	ctx, free := context.WithTimeoutCause(ctx, of.limits.Timeout, fmt.Errorf(
		"the subagent has not finished within %s (agents.defaults.subturn.default_timeout_minutes)", of.limits.Timeout))
	defer free()
	if t.o.Until != nil {
		var done context.CancelFunc
		ctx, done = t.o.Until(ctx, c.task.Parent)
		defer done()
	}
	member, err := t.o.Open(ctx, c.task)
	if err != nil {
		return "", fmt.Errorf("open a subagent: %w", err)
	}
	t.mu.Lock()
	t.family(member.Session).depth = of.depth + 1
	told := c.Child
	t.mu.Unlock()
	outcome, err := member.Agent.Turn(ctx, c.task.Text, func(e Event) {
		if t.o.Observe != nil {
			t.o.Observe(told, e)
		}
	})
	t.End(member.Session)
	if member.Close != nil {
		err = errors.Join(err, member.Close())
	}
	return outcome.Text, err
}
