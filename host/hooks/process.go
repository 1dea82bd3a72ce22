package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/go-hclog"
)

// points are what processes can intercept.
var points = []string{"before_tool", "after_tool", "approve_tool", "before_llm", "after_llm"}

// kinds are the names of what processes are told of, as upstream has them.
var kinds = map[Event]string{
	UserPromptSubmit: "agent.turn.start", Stop: "agent.turn.end", SubagentStop: "agent.subturn.end",
	SessionStart: "agent.session.start", SessionEnd: "agent.session.end",
	Notification: "agent.notification",
	beforeModel:  "agent.llm.request", afterModel: "agent.llm.response",
}

// observable are the names that "observe" takes.
func observable() []string {
	names := slices.Collect(maps.Values(kinds))
	names = append(names, "*", "agent.tool.exec_start", "agent.tool.exec_end", "agent.tool.exec_skipped")
	slices.Sort(names)
	return names
}

// process is a program that lives on: one child for each agent that it is asked for.
type process struct {
	name, key string // key: hooks.processes.NAME
	o         Process
	defaults  Defaults // how long it may take
	log       hclog.Logger

	life context.Context // ends when it is closed
	end  context.CancelFunc

	mu     sync.Mutex
	closed bool
	seats  map[string]*seat

	observed chan observation // nil until there is something to tell
	telling  sync.WaitGroup
}

func newProcess(name string, o Process, d Defaults, log hclog.Logger) *process {
	life, end := context.WithCancel(context.Background())
	return &process{
		name: name, key: "hooks.processes." + name, o: o, defaults: d, log: log.Named(name), seats: map[string]*seat{},
		life: life, end: end,
	}
}

func (p *process) timeout(point string) time.Duration {
	if point == "approve_tool" {
		return time.Duration(cmp.Or(p.defaults.Approval, 60000)) * time.Millisecond
	}
	return time.Duration(cmp.Or(p.defaults.Interceptor, 5000)) * time.Millisecond
}

// observing is how long it may take to take what it is told of.
func (p *process) observing() time.Duration {
	return time.Duration(cmp.Or(p.defaults.Observer, 500)) * time.Millisecond
}

// seat is where an agent's child sits. It is started again when it has ended: at once the first time, and later and
// later while it gives no answer.
type seat struct {
	mu       sync.Mutex // held while a child is started
	child    *child
	failures int
	again    time.Time
}

// child returns the child for a session's agent.
func (p *process) child(ctx context.Context, w where) (*seat, *child, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, nil, errors.New("was ended with the host")
	}
	key := w.agent + "\x00" + w.dir
	at := p.seats[key]
	if at == nil {
		at = &seat{}
		p.seats[key] = at
	}
	p.mu.Unlock()
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.child != nil {
		if at.child.ended() == nil {
			return at, at.child, nil
		}
		at.failed()
		p.log.Warn("a hook's process has ended", "hook", p.key, "why", at.child.ended(), "stderr", at.child.words())
		at.child = nil
	}
	if wait := time.Until(at.again); wait > 0 {
		return nil, nil, fmt.Errorf("has ended, and is started again in %s", wait.Round(10*time.Millisecond))
	}
	started, err := p.start(ctx, w)
	if err != nil {
		at.failed()
		return nil, nil, err
	}
	at.child = started
	return at, started, nil
}

// failed has the next start wait: not the first time, and at most half a minute.
func (at *seat) failed() {
	if at.failures++; at.failures > 1 {
		at.again = time.Now().Add(min(30*time.Second, 125*time.Millisecond<<min(at.failures, 10)))
	}
}

// answered forgets what has failed before.
func (at *seat) answered() {
	at.mu.Lock()
	defer at.mu.Unlock()
	at.failures = 0
}

// start starts a child and greets it.
func (p *process) start(ctx context.Context, w where) (*child, error) {
	child := program(w, "hook-"+p.name, p.o.Grants)
	if err := runs(child.Command, p.o.Command); err != nil {
		return nil, err
	}
	child.Command.Dir = cmp.Or(p.o.Dir, child.Command.Dir)
	c, err := startChild(w, child, p.log)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, p.timeout(""))
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	_, err = c.call(within, "hook.hello", map[string]any{"name": p.name, "version": 1, "modes": p.modes()})
	if err != nil {
		c.kill(err)
		<-c.done
		if text := c.words(); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return nil, fmt.Errorf("did not answer hook.hello: %w", err)
	}
	return c, nil
}

// modes are what the child is told that it will be asked about.
func (p *process) modes() []string {
	var modes []string
	has := func(point string) bool { return slices.Contains(p.o.Intercept, point) }
	if len(p.o.Observe) > 0 {
		modes = append(modes, "observe")
	}
	if has("before_llm") || has("after_llm") {
		modes = append(modes, "llm")
	}
	if has("before_tool") || has("after_tool") {
		modes = append(modes, "tool")
	}
	if has("approve_tool") {
		modes = append(modes, "approve")
	}
	return modes
}

func (p *process) close(ctx context.Context) {
	p.end()
	p.mu.Lock()
	p.closed = true
	seats := p.seats
	p.seats = nil
	if p.observed != nil {
		close(p.observed)
		p.observed = nil
	}
	p.mu.Unlock()
	for _, at := range seats {
		at.mu.Lock()
		if at.child != nil {
			at.child.close(ctx)
		}
		at.mu.Unlock()
	}
	p.telling.Wait()
}

// observe tells the processes that want to hear of it, and waits for none.
func (h *Hooks) observe(w where, kind string, payload map[string]any) {
	for _, p := range h.processes {
		if slices.Contains(p.o.Observe, kind) || slices.Contains(p.o.Observe, "*") {
			p.observe(observation{w, kind, payload})
		}
	}
}

// waiting is how many observations may wait for a process to take them.
const waiting = 64

// observation is something that a process is told of.
type observation struct {
	where
	kind    string
	payload map[string]any
}

func (p *process) observe(o observation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if p.observed == nil {
		all := make(chan observation, waiting)
		p.observed = all
		p.telling.Go(func() { p.tell(all) })
	}
	select {
	case p.observed <- o:
	default:
		p.log.Warn("a hook is too slow to be told of all events", "hook", p.key)
	}
}

// tell tells what waits, one after another. A child that does not take one in time has got a part of it, and is ended.
func (p *process) tell(all <-chan observation) {
	for o := range all {
		_, c, err := p.child(context.Background(), o.where)
		if err == nil {
			err = c.notify("hook.runtime_event", map[string]any{
				"kind": o.kind, "source": map[string]any{"component": "agent", "name": o.agent}, "scope": meta(o.where),
				"payload": o.payload,
			}, p.observing())
		}
		if err != nil {
			p.log.Warn("a hook is not told of an event", "hook", p.key, "event", o.kind, "error", err)
		}
	}
}

func meta(w where) map[string]any {
	return map[string]any{"agent_id": w.agent, "session_key": w.session}
}

// interceptor asks a process at one point.
type interceptor struct {
	*process
	point string
}

func (i *interceptor) String() string { return i.point }

func (i *interceptor) ask(ctx context.Context, q question) (answer, error) {
	within, cancel := context.WithTimeout(ctx, i.timeout(i.point))
	defer cancel()
	at, c, err := i.child(within, q.where)
	if err != nil {
		return answer{}, err
	}
	result, err := c.call(within, "hook."+i.point, i.params(q))
	if err != nil {
		if within.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("did not answer within %s", i.timeout(i.point))
			c.kill(err) // it answers one after another, so the next would wait as long
		}
		return answer{}, err
	}
	at.answered()
	if i.point == "approve_tool" {
		return approval(result)
	}
	return action(q, i.point, result)
}

func (i *interceptor) params(q question) any {
	if q.model != nil {
		return q.model
	}
	params := map[string]any{"meta": meta(q.where)}
	params["tool"], params["arguments"] = plainName(q.call.Tool), q.call.Args
	if r := q.result; r != nil {
		text := r.Text
		if r.Err != nil {
			text = joined(text, r.Err.Message)
		}
		params["result"] = map[string]any{"for_llm": text, "is_error": r.Err != nil}
	}
	return params
}

func approval(result json.RawMessage) (answer, error) {
	var said struct {
		Approved *bool  `json:"approved"`
		Reason   string `json:"reason"`
	}
	if err := json.Unmarshal(result, &said); err != nil {
		return answer{}, fmt.Errorf("answered with what can't be read: %w", err)
	}
	if said.Approved == nil || !*said.Approved {
		return answer{decision: deny, reason: cmp.Or(strings.TrimSpace(said.Reason), "it has not approved of the call")}, nil
	}
	return answer{}, nil
}

// action reads what a process wants done.
func action(q question, point string, result json.RawMessage) (answer, error) {
	var said struct {
		Action string `json:"action"`
		Reason string `json:"reason"`
		Call   *struct {
			Tool      string          `json:"tool"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"call"`
		Request  json.RawMessage `json:"request"`
		Response json.RawMessage `json:"response"`
	}
	if jsontext.Value(result).Kind() != '{' { // null would be read as an empty one
		return answer{}, errors.New("answered with what can't be read: no JSON object")
	}
	if err := json.Unmarshal(result, &said); err != nil {
		return answer{}, fmt.Errorf("answered with what can't be read: %w", err)
	}
	switch said.Action {
	case "", "continue":
		return answer{}, nil
	case "deny_tool":
		return answer{decision: deny, reason: said.Reason}, nil
	case "abort_turn", "hard_abort":
		return answer{decision: deny, reason: said.Reason, stop: true}, nil
	case "respond":
		return answer{decision: deny, reason: "it answers in place of the tool, which a hook can't do here: hooks can only " +
			"take away"}, nil
	case "modify":
	default:
		return answer{}, fmt.Errorf("answered with the action %q, which is not known", said.Action)
	}
	var changed json.RawMessage
	switch point {
	case "before_llm":
		changed = said.Request
	case "after_llm":
		changed = said.Response
	case "after_tool":
		return answer{}, errors.New("changes a result, which a hook can't do here")
	default:
		if said.Call == nil {
			break
		}
		if t := said.Call.Tool; t != "" && t != plainName(q.call.Tool) {
			return answer{}, fmt.Errorf("changes the tool to %s, which a hook can't do", t)
		}
		changed = said.Call.Arguments
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(changed, &object); err != nil || object == nil {
		return answer{}, errors.New("says that it changes something, and has no object in its place")
	}
	return answer{args: changed}, nil
}
