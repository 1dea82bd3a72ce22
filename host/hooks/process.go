package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/go-hclog"
)

// eventKinds maps events to the names that observing processes get. They are the names of upstream PicoClaw.
var eventKinds = map[HookEvent]string{
	UserPromptSubmit: "agent.turn.start", Stop: "agent.turn.end", SubagentStop: "agent.subturn.end",
	SessionStart: "agent.session.start", SessionEnd: "agent.session.end",
	Notification: "agent.notification",
	BeforeModel:  "agent.llm.request", AfterModel: "agent.llm.response",
}

// processHook is a long-running hook program. It has one child process for each agent and workspace.
type processHook struct {
	name, key string // as "hooks.processes.NAME"
	options   ProcessHookOptions
	defaults  ProcessHookTimeouts // timeouts
	log       hclog.Logger

	closing context.Context // ends when the hook is stopped
	cancel  context.CancelFunc

	mu     sync.Mutex
	closed bool
	slots  map[string]*hookChildSupervisor

	queue    chan observerEvent // nil until the first event
	delivery sync.WaitGroup
}

// newProcessHook returns a process hook without starting a child.
func newProcessHook(name string, o ProcessHookOptions, d ProcessHookTimeouts, log hclog.Logger) *processHook {
	life, end := context.WithCancel(context.Background())
	return &processHook{
		name: name, key: "hooks.processes." + name, options: o, defaults: d, log: log.Named(name), slots: map[string]*hookChildSupervisor{},
		closing: life, cancel: end,
	}
}

// interceptTimeout returns the timeout for a child's response at an intercept point.
func (p *processHook) interceptTimeout(point string) time.Duration {
	if point == "approve_tool" {
		return time.Duration(cmp.Or(p.defaults.Approval, 60000)) * time.Millisecond
	}
	return time.Duration(cmp.Or(p.defaults.Interceptor, 5000)) * time.Millisecond
}

// hookChildSupervisor starts one agent's process of a hook. It restarts an ended process: at once after the first
// failure, then with growing delays until the process responds.
type hookChildSupervisor struct {
	mu        sync.Mutex // held while a child is started
	child     *hookChild
	failures  int
	notBefore time.Time
}

// getOrStartChild returns the running child for a session's agent, and starts it if necessary.
func (p *processHook) getOrStartChild(ctx context.Context, w sessionInfo) (*hookChildSupervisor, *hookChild, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, nil, errors.New("was stopped with the host")
	}
	key := w.agent + "\x00" + w.dir
	slot := p.slots[key]
	if slot == nil {
		slot = &hookChildSupervisor{}
		p.slots[key] = slot
	}
	p.mu.Unlock()
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if slot.child != nil {
		if slot.child.endReason() == nil {
			return slot, slot.child, nil
		}
		slot.recordFailure()
		p.log.Warn("a hook's process ended", "hook", p.key, "why", slot.child.endReason(), "stderr", slot.child.stderrText())
		slot.child = nil
	}
	if wait := time.Until(slot.notBefore); wait > 0 {
		return nil, nil, fmt.Errorf("ended; the next start is in %s", wait.Round(10*time.Millisecond))
	}
	started, err := p.startAndHandshake(ctx, w)
	if err != nil {
		slot.recordFailure()
		return nil, nil, err
	}
	slot.child = started
	return slot, started, nil
}

// recordFailure counts a failure. After the second failure it delays the next start, by at most 30 s.
func (slot *hookChildSupervisor) recordFailure() {
	if slot.failures++; slot.failures > 1 {
		slot.notBefore = time.Now().Add(min(30*time.Second, 125*time.Millisecond<<min(slot.failures, 10)))
	}
}

func (slot *hookChildSupervisor) resetFailures() {
	slot.mu.Lock()
	defer slot.mu.Unlock()
	slot.failures = 0
}

// startAndHandshake starts a child and waits for its response to hook.hello.
func (p *processHook) startAndHandshake(ctx context.Context, w sessionInfo) (*hookChild, error) {
	child := newConfinedProgram(w, "hook-"+p.name, p.options.HookGrants)
	if err := setCommandExecutable(child.Command, p.options.Command); err != nil {
		return nil, err
	}
	child.Command.Dir = cmp.Or(p.options.Dir, child.Command.Dir)
	c, err := startHookChild(w, child, p.log)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, p.interceptTimeout(""))
	defer cancel()
	defer context.AfterFunc(p.closing, cancel)()
	_, err = c.callMethod(limited, "hook.hello", map[string]any{"name": p.name, "version": 1, "modes": p.announcedModes()})
	if err != nil {
		c.killWithReason(err)
		<-c.done
		if text := c.stderrText(); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return nil, fmt.Errorf("did not answer hook.hello: %w", err)
	}
	return c, nil
}

// announcedModes returns the modes in hook.hello, which announce the requests that the child will get.
func (p *processHook) announcedModes() []string {
	var modes []string
	has := func(point string) bool { return slices.Contains(p.options.Intercept, point) }
	if len(p.options.Observe) > 0 {
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

// stopChildren stops all children and the delivery of events.
func (p *processHook) stopChildren(ctx context.Context) {
	p.cancel()
	p.mu.Lock()
	p.closed = true
	seats := p.slots
	p.slots = nil
	if p.queue != nil {
		close(p.queue)
		p.queue = nil
	}
	p.mu.Unlock()
	for _, slot := range seats {
		slot.mu.Lock()
		if slot.child != nil {
			slot.child.stopGracefully(ctx)
		}
		slot.mu.Unlock()
	}
	p.delivery.Wait()
}

// publishEvent queues an event for the processes that observe its kind. It does not block.
func (h *Hooks) publishEvent(w sessionInfo, kind string, payload map[string]any) {
	for _, p := range h.processes {
		if slices.Contains(p.options.Observe, kind) || slices.Contains(p.options.Observe, "*") {
			p.queueEvent(observerEvent{w, kind, payload})
		}
	}
}

// maxQueuedEvents limits the events queued for one process.
const maxQueuedEvents = 64

// observerEvent is an event for observers.
type observerEvent struct {
	sessionInfo
	kind    string
	payload map[string]any
}

// queueEvent queues an event for the child. It drops the event if the queue is full.
func (p *processHook) queueEvent(o observerEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if p.queue == nil {
		queue := make(chan observerEvent, maxQueuedEvents)
		p.queue = queue
		p.delivery.Go(func() { p.deliverEvents(queue) })
	}
	select {
	case p.queue <- o:
	default:
		p.log.Warn("a hook reads events too slowly; one was dropped", "hook", p.key)
	}
}

// deliverEvents sends queued events to the children in order, until the queue is closed.
func (p *processHook) deliverEvents(queue <-chan observerEvent) {
	for o := range queue {
		_, c, err := p.getOrStartChild(context.Background(), o.sessionInfo)
		if err == nil {
			err = c.sendNotification("hook.runtime_event", map[string]any{
				"kind": o.kind, "source": map[string]any{"component": "agent", "name": o.agent}, "scope": sessionIDs(o.sessionInfo),
				"payload": o.payload,
			}, time.Duration(cmp.Or(p.defaults.Observer, 500))*time.Millisecond)
		}
		if err != nil {
			p.log.Warn("an event was not delivered to a hook", "hook", p.key, "event", o.kind, "error", err)
		}
	}
}

// sessionIDs returns the ids of agent and session for a request to a child.
func sessionIDs(w sessionInfo) map[string]any {
	return map[string]any{"agent_id": w.agent, "session_key": w.session}
}

// interceptor runs a process hook at one intercept point. It is a hookRunner.
type interceptor struct {
	*processHook
	point string
}

// String returns the intercept point.
func (i *interceptor) String() string { return i.point }

// respond sends the request to the process and parses its response.
func (i *interceptor) respond(ctx context.Context, q hookRequest) (hookResponse, error) {
	limited, cancel := context.WithTimeout(ctx, i.interceptTimeout(i.point))
	defer cancel()
	slot, c, err := i.getOrStartChild(limited, q.sessionInfo)
	if err != nil {
		return hookResponse{}, err
	}
	result, err := c.callMethod(limited, "hook."+i.point, i.requestParams(q))
	if err != nil {
		if limited.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("did not answer within %s", i.interceptTimeout(i.point))
			c.killWithReason(err) // later requests would wait behind this one
		}
		return hookResponse{}, err
	}
	slot.resetFailures()
	if i.point == "approve_tool" {
		return parseApprovalResponse(result)
	}
	return parseInterceptResponse(q, i.point, result)
}

// requestParams returns the parameters of a request to the child: the model message, or the call with its result.
func (i *interceptor) requestParams(q hookRequest) any {
	if q.modelMessage != nil {
		return q.modelMessage
	}
	params := map[string]any{"meta": sessionIDs(q.sessionInfo)}
	params["tool"], params["arguments"] = upstreamToolName(q.call.Tool), q.call.Args
	if r := q.result; r != nil {
		text := r.Text
		if r.Err != nil {
			text = joinLines(text, r.Err.Message)
		}
		params["result"] = map[string]any{"for_llm": text, "is_error": r.Err != nil}
	}
	return params
}

// parseApprovalResponse parses the response to approve_tool. Any response but an approval refuses the call.
func parseApprovalResponse(result json.RawMessage) (hookResponse, error) {
	var response struct {
		Approved *bool  `json:"approved"`
		Reason   string `json:"reason"`
	}
	if err := json.Unmarshal(result, &response); err != nil {
		return hookResponse{}, fmt.Errorf("sent an unreadable response: %w", err)
	}
	if response.Approved == nil || !*response.Approved {
		return hookResponse{decision: deny, reason: cmp.Or(strings.TrimSpace(response.Reason), "it has not approved of the call")}, nil
	}
	return hookResponse{}, nil
}

// parseInterceptResponse parses the response at the other intercept points. It checks that the process changes only
// what the point permits.
func parseInterceptResponse(q hookRequest, point string, result json.RawMessage) (hookResponse, error) {
	var response struct {
		Action string `json:"action"`
		Reason string `json:"reason"`
		Call   *struct {
			Tool      string          `json:"tool"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"call"`
		Request  json.RawMessage `json:"request"`
		Response json.RawMessage `json:"response"`
	}
	if jsontext.Value(result).Kind() != '{' { // json.Unmarshal accepts null
		return hookResponse{}, errors.New("sent an unreadable response: no JSON object")
	}
	if err := json.Unmarshal(result, &response); err != nil {
		return hookResponse{}, fmt.Errorf("sent an unreadable response: %w", err)
	}
	switch response.Action {
	case "", "continue":
		return hookResponse{}, nil
	case "deny_tool":
		return hookResponse{decision: deny, reason: response.Reason}, nil
	case "abort_turn", "hard_abort":
		return hookResponse{decision: deny, reason: response.Reason, stop: true}, nil
	case "respond":
		return hookResponse{decision: deny, reason: "it returns a result in place of the tool's, but hooks can only " +
			"restrict"}, nil
	case "modify":
	default:
		return hookResponse{}, fmt.Errorf("answered with the action %q, which is not known", response.Action)
	}
	var changed json.RawMessage
	switch point {
	case "before_llm":
		changed = response.Request
	case "after_llm":
		changed = response.Response
	case "after_tool":
		return hookResponse{}, errors.New("changes a result, which hooks can't do")
	default:
		if response.Call == nil {
			break
		}
		if t := response.Call.Tool; t != "" && t != upstreamToolName(q.call.Tool) {
			return hookResponse{}, fmt.Errorf("changes the tool to %s, which a hook can't do", t)
		}
		changed = response.Call.Arguments
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(changed, &object); err != nil || object == nil {
		return hookResponse{}, errors.New("has the action modify without an object")
	}
	return hookResponse{args: changed}, nil
}
