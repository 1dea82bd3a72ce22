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

// Team lets agents delegate tasks to child agents. A child runs its parent's loop in its own session, its usage counts
// for the parent's turn, and it ends with that turn unless Outlive is set.
type Team struct {
	options TeamOptions
	ctx     context.Context // of children outside a turn
	cancel  context.CancelCauseFunc

	mu      sync.Mutex
	groups  map[*session.Session]*sessionChildren
	running sync.WaitGroup // children outside a turn
}

// TeamOptions configure a [Team].
type TeamOptions struct {
	// Limits returns the limits of a session's children.
	Limits func(parent *session.Session) TeamLimits
	// Open opens an agent for a task: in a child session of the parent's, or if the task names another agent, in a
	// session of that agent.
	Open func(ctx context.Context, t ChildTask) (*TaskAgent, error)
	// AllowedAgents returns the agents to which a session may delegate. Nil allows none.
	AllowedAgents func(parent *session.Session) []string
	// WithStop adds further limits to the context of a child, such as an operator's stop. It may be nil.
	WithStop func(ctx context.Context, parent *session.Session) (context.Context, context.CancelFunc)
	// Observe receives events of children, concurrently, and may be nil.
	Observe func(c ChildStatus, e TurnEvent)
	// Outlive lets background children continue after their parent's turn. The parent gets their results in its next
	// turn.
	Outlive bool
}

// TeamLimits limit child agents. All fields are required. Begin with [DefaultTeamLimits].
type TeamLimits struct {
	Depth      int           // nesting of children
	Concurrent int           // running children per parent
	Timeout    time.Duration // of a child
	SlotWait   time.Duration // maximum wait for a slot
}

// DefaultTeamLimits returns the default limits.
func DefaultTeamLimits() TeamLimits {
	return TeamLimits{Depth: 3, Concurrent: 5, Timeout: 5 * time.Minute, SlotWait: 30 * time.Second}
}

// ChildTask is work for a child agent.
type ChildTask struct {
	Parent *session.Session
	Agent  string // empty for the parent's own agent
	Label  string
	Text   string
}

// TaskAgent is an agent that was opened for a task.
type TaskAgent struct {
	Agent   *Agent
	Session *session.Session // of its calls
	Close   func() error     // may be nil
}

// The states of a child.
const (
	Running  = "running"
	Finished = "finished"
	Failed   = "failed"
)

// ChildStatus describes a child agent and its progress.
type ChildStatus struct {
	ID, Label, Agent string
	State            string
	Text             string // its last text, or why it failed
	Began, Ended     time.Time
}

// sessionChildren are the child agents of one session.
type sessionChildren struct {
	limits   TeamLimits
	depth    int // nesting of the session; 0 without a parent
	begun    int
	slots    chan struct{}
	children []*childAgent
}

type childAgent struct {
	ChildStatus
	task       ChildTask
	background bool // no call waits for it
	reported   bool // the parent knows the result
	cancel     context.CancelCauseFunc
	done       chan struct{}
}

// maxKeptChildren limits the child agents of a session whose status is kept.
const maxKeptChildren = 50

var (
	errTeamEnds   = errors.New("picoclaw ends")
	errParentEnds = errors.New("its parent has ended")
)

// NewTeam returns a team.
func NewTeam(o TeamOptions) *Team {
	t := &Team{options: o, groups: make(map[*session.Session]*sessionChildren)}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	return t
}

// Close cancels all child agents and waits for them.
func (t *Team) Close() {
	t.mu.Lock() // prevents new children
	t.cancel(errTeamEnds)
	t.mu.Unlock()
	t.running.Wait()
}

// EndSession cancels and forgets the child agents of a session that has ended.
func (t *Team) EndSession(s *session.Session) {
	t.mu.Lock()
	f := t.groups[s]
	delete(t.groups, s)
	t.mu.Unlock()
	if f == nil {
		return
	}
	for _, c := range f.children {
		c.cancel(errParentEnds)
	}
	for _, c := range f.children {
		<-c.done
	}
}

// SessionInbox returns a function for [Options.Inbox]. The function returns the results of children that the session
// has not received.
func (t *Team) SessionInbox(s *session.Session) func() []string {
	return func() []string {
		t.mu.Lock()
		defer t.mu.Unlock()
		var all []string
		if f := t.groups[s]; f != nil {
			for _, c := range f.children {
				if c.background && c.State != Running && !c.reported {
					c.reported = true
					all = append(all, c.statusText())
				}
			}
		}
		return all
	}
}

// childrenOfSession returns the child agents of a session. The caller holds t.mu.
func (t *Team) childrenOfSession(s *session.Session) *sessionChildren {
	f := t.groups[s]
	if f == nil {
		limits := t.options.Limits(s)
		f = &sessionChildren{limits: limits, slots: make(chan struct{}, limits.Concurrent)}
		t.groups[s] = f
	}
	return f
}

// startTask starts a child agent when a slot is free, and does not wait for its end. No call waits for a background
// child.
func (t *Team) startTask(ctx context.Context, task ChildTask, background bool) (*childAgent, error) {
	if err := t.checkDelegation(task); err != nil {
		return nil, err
	}
	t.mu.Lock()
	f := t.childrenOfSession(task.Parent)
	depth := f.depth
	t.mu.Unlock()
	if limit := f.limits.Depth; depth >= limit {
		return nil, sdk.Errorf(sdk.AccessDenied, "the nesting depth of subagents is limited to %d", limit).
			WithHint("do it yourself; agents.defaults.subturn.max_depth bounds it")
	}
	if err := f.acquireSlot(ctx); err != nil {
		return nil, err
	}
	c := t.launchChild(ctx, f, task, background)
	if c == nil {
		<-f.slots
		return nil, errTeamEnds
	}
	return c, nil
}

// acquireSlot takes a slot for a child agent. It waits up to SlotWait.
func (f *sessionChildren) acquireSlot(ctx context.Context) error {
	select {
	case f.slots <- struct{}{}: // even with a zero SlotWait
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
		return sdk.Errorf(sdk.Timeout, "%d subagents are running, and none ended within %s", cap(f.slots),
			f.limits.SlotWait).WithHint("wait for one by spawn_status; agents.defaults.subturn.max_concurrent and " +
			"concurrency_timeout_sec bound it")
	}
}

// checkDelegation returns an error if the parent may not delegate to the task's agent.
func (t *Team) checkDelegation(task ChildTask) error {
	var names []string
	if t.options.AllowedAgents != nil {
		names = t.options.AllowedAgents(task.Parent)
	}
	if task.Agent == "" || slices.Contains(names, task.Agent) {
		return nil
	}
	e := sdk.Errorf(sdk.AccessDenied, "this agent may not delegate to %q", task.Agent)
	if len(names) == 0 {
		return e.WithHint("subagents.allow_agents lists the agents it may delegate to")
	}
	return e.WithHint("it may to %s; subagents.allow_agents names them", strings.Join(names, ", "))
}

// launchChild runs a child agent in a goroutine; nil if the team is closed.
func (t *Team) launchChild(ctx context.Context, f *sessionChildren, task ChildTask, background bool) *childAgent {
	c := &childAgent{task: task, background: background, done: make(chan struct{})}
	waiting := &t.running
	if parent := turnFromContext(ctx); background && parent != nil && !t.options.Outlive {
		ctx, waiting = parent.ctx, &parent.children // the call's context ends at once
	} else if background {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, c.cancel = context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil {
		c.cancel(errTeamEnds)
		return nil
	}
	f.begun++
	c.ChildStatus = ChildStatus{ID: fmt.Sprint(f.begun), Label: task.Label, Agent: task.Agent, State: Running, Began: time.Now()}
	if len(f.children) >= maxKeptChildren {
		over := func(c *childAgent) bool { return c.reported || !c.background && c.State != Running }
		if i := slices.IndexFunc(f.children, over); i >= 0 {
			f.children = slices.Delete(f.children, i, i+1)
		}
	}
	f.children = append(f.children, c)
	waiting.Go(func() {
		text, err := t.runChild(ctx, c, f)
		c.cancel(nil)
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

// runChild runs a child agent until it has done its task, and returns its answer.
func (t *Team) runChild(ctx context.Context, c *childAgent, of *sessionChildren) (string, error) {
	defer context.AfterFunc(t.ctx, func() { c.cancel(errTeamEnds) })()
	ctx, free := context.WithTimeoutCause(ctx, of.limits.Timeout, fmt.Errorf(
		"the subagent has not finished within %s (agents.defaults.subturn.default_timeout_minutes)", of.limits.Timeout))
	defer free()
	if t.options.WithStop != nil {
		var done context.CancelFunc
		ctx, done = t.options.WithStop(ctx, c.task.Parent)
		defer done()
	}
	member, err := t.options.Open(ctx, c.task)
	if err != nil {
		return "", fmt.Errorf("open a subagent: %w", err)
	}
	t.mu.Lock()
	t.childrenOfSession(member.Session).depth = of.depth + 1
	told := c.ChildStatus
	t.mu.Unlock()
	outcome, err := member.Agent.RunTurn(ctx, c.task.Text, func(e TurnEvent) {
		if t.options.Observe != nil {
			t.options.Observe(told, e)
		}
	})
	t.EndSession(member.Session)
	if member.Close != nil {
		err = errors.Join(err, member.Close())
	}
	return outcome.Text, err
}
