package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// The bounds of events: how large a piece of output is, and how many of them a caller may be behind.
const (
	maxChunk = 256 << 10
	window   = 16
)

// running is a call that runs.
type running struct {
	served *served
	id     string
	digest string
	to     string
	events bool
	tool   string
	origin session.Origin

	context.Context
	cancel context.CancelFunc      // for its caller, who is gone or wants it
	end    context.CancelCauseFunc // for the worker

	mu     sync.Mutex
	sent   uint64        // events
	seen   uint64        // that the caller has done with
	credit chan struct{} // has one when seen has grown
	last   time.Time     // when the caller has said something
}

func newRunning(s *served, r *request, to string) *running {
	run := &running{served: s, id: r.ID, digest: r.Digest, to: to, events: r.Events, tool: r.Tool, origin: r.Origin,
		credit: make(chan struct{}, 1), last: time.Now()}
	run.Context, run.end = context.WithCancelCause(s.lease)
	stop := func() {}
	if r.LeftMS > 0 {
		run.Context, stop = context.WithTimeout(run.Context, time.Duration(r.LeftMS)*time.Millisecond)
	}
	run.cancel = func() { stop(); run.end(nil) }
	return run
}

// errEnding is why what runs is ended when the agent is given away, or the worker is told to stop.
var errEnding = errors.New("its agent is given away, for which the call took too long")

// ended is why the worker has ended the call; nil where it has not, or its caller has, or the caller's time.
func (run *running) ended() error {
	why := context.Cause(run)
	if errors.Is(why, context.Canceled) || errors.Is(why, context.DeadlineExceeded) {
		return nil
	}
	return why
}

// run makes the call: it is written down first, then made, and its answer is written down before it is returned, for
// its caller; nil for none.
func (run *running) run(arguments []byte) (answer []byte) {
	s := run.served
	sess, done, err := s.session(run.origin)
	if err == nil {
		defer done()
		err = s.journal.begin(run.id, run.digest)
	}
	if err != nil {
		return s.sized(run, answerOf(run.id, failed(pluginpb.CodeUnavailable, err.Error())), nil)
	}
	if !s.lease.sure() {
		return nil
	}
	ended := make(chan struct{})
	defer close(ended)
	go run.attend(ended)
	var events func(session.CallEvent)
	if run.events {
		events = run.event
	}
	result := sess.Call(run, run.tool, arguments, events)
	says, text := answerOf(run.id, result), []byte(result.Text)
	if why := run.ended(); why != nil && result.Err != nil && result.Err.Code == pluginpb.CodeCancelled {
		says = reply{Kind: kindUnknown, ID: run.id, Why: "the worker has begun the call, and ended it: " + why.Error()}
		text = nil // who has cancelled nothing is not told so
	}
	answer = s.sized(context.WithoutCancel(run), says, text)
	if err := s.journal.done(run.id, answer); err != nil {
		s.worker.log.Error("a call's answer is not written down: whoever asks for it again is told that nobody knows it",
			"agent", s.agent, "tool", run.tool, "error", err)
	}
	return answer
}

func answerOf(id string, r *session.Result) reply {
	return reply{Kind: kindAnswer, ID: id, Result: &result{Structured: r.Structured, Content: r.Content, Err: r.Err,
		Answered: r.Answered}}
}

// attend cancels the call when its caller is gone.
func (run *running) attend(ended <-chan struct{}) {
	tick := time.NewTicker(callerGone / 10)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			run.mu.Lock()
			silent := time.Since(run.last)
			run.mu.Unlock()
			if silent > callerGone {
				run.cancel()
			}
		}
	}
}

// heard notes that the caller is there, and with which events it has done. It returns how many there were.
func (run *running) heard(seen uint64) uint64 {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.last = time.Now()
	if seen > run.seen && seen <= run.sent {
		run.seen = seen
		select {
		case run.credit <- struct{}{}:
		default:
		}
	}
	return run.sent
}

// event sends an event, in pieces. It waits while the caller is too far behind, and so has its own call wait and no
// other one.
func (run *running) event(e session.CallEvent) {
	head, body := wireEvent(e)
	for first := true; first || len(body) > 0; first = false {
		piece := body[:min(len(body), maxChunk)]
		body = body[len(piece):]
		seq, open := run.turn()
		if !open {
			return // the call has ended while its caller was behind
		}
		run.served.say(run.to, reply{Kind: kindEvent, ID: run.id, Seq: seq, Event: head}, piece)
	}
}

// turn waits until there may be one more event, and returns its number.
func (run *running) turn() (seq uint64, open bool) {
	for {
		run.mu.Lock()
		if run.sent-run.seen < window {
			run.sent++
			defer run.mu.Unlock()
			return run.sent, true
		}
		run.mu.Unlock()
		select {
		case <-run.credit:
		case <-run.Done():
			return 0, false
		}
	}
}
