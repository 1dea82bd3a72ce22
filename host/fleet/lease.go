package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// The times of leases. They are measured on one machine each, by a clock that only goes forward: a worker is sure of
// its agents for sureFor after it began to say so for the last time; another one takes them when it has watched the
// first say nothing for silentFor. Clocks that are set do not matter, nor when NATS lets an entry expire.
const (
	renewEvery = 500 * time.Millisecond
	sureFor    = 2 * time.Second
	silentFor  = 3 * time.Second
	lookAgain  = time.Minute      // an agent that another one has is looked up anew, if that one lives
	signAge    = 10 * time.Second // after which a dead worker's sign of life is swept away
)

// sign is a worker's sign of life. An instance is one life of a worker.
type sign struct {
	envelope
	Sign
	Instance string `json:"instance"`
	Given    uint64 `json:"given,omitempty"` // how many agents it has given away in this life
}

// lease is a worker's right to its agents, in one of its lives.
type lease struct {
	fleet    *Fleet
	worker   string
	instance string

	context.Context // done when the right is lost, before anybody else may have it
	lost            context.CancelCauseFunc
	timer           *time.Timer
	keeping         sync.WaitGroup

	mu       sync.Mutex
	began    time.Time
	revision uint64
	until    time.Duration // as now has it
}

// errLost is why what runs is ended when a lease is.
var errLost = errors.New("the worker can't be sure any more that it has the agent")

// begin begins a life of a worker, as soon as another life of the same name has been silent for long enough, or at once
// if that is known to have ended. What ends this one is its own time, not ctx. about is what the worker says of itself.
func begin(ctx context.Context, f *Fleet, about func() sign, instance, ended string, warn func(error)) (*lease, error) {
	s := about()
	l := &lease{fleet: f, worker: s.Worker, instance: instance, began: time.Now()}
	watch := newWatch(f)
	arrived, said := time.Now(), ""
	for {
		began := l.now()
		silent, last, err := watch.silent(ctx, s.Worker)
		var before sign
		if err == nil && !last.gone {
			_ = json.Unmarshal(last.value, &before) // what can't be read is somebody else's
		}
		if err == nil && (silent || last.revision == 0 || before.Instance != "" &&
			(before.Instance == ended || before.Instance == instance)) { // of an answer that was lost, it is this life
			l.revision = last.revision
			if err = l.say(ctx, s); err == nil {
				l.Context, l.lost = context.WithCancelCause(context.WithoutCancel(ctx))
				l.until = began + sureFor
				l.timer = time.AfterFunc(l.until-l.now(), func() { l.lost(errLost) })
				l.keeping.Go(func() { l.keep(about) })
				return l, nil
			}
		}
		switch {
		case f.conn.IsClosed():
			return nil, fmt.Errorf("NATS does not let the worker %s in any more: %w; ask the hub's operator for a new identity",
				s.Worker, cmp.Or(f.conn.LastError(), nats.ErrConnectionClosed))
		case err != nil:
			// A connection that is lost may be one that is refused, which its end says some tries later.
			early := f.conn.IsReconnecting() && time.Since(l.began) < silentFor
			if err.Error() != said && !early {
				said = err.Error()
				warn(fmt.Errorf("say in the fleet that the worker %s lives: %w", s.Worker, err))
			}
			arrived = time.Now()
		case time.Since(arrived) > 2*silentFor:
			return nil, fmt.Errorf("another worker calls itself %s, and lives; --name or fleet.name gives this one another name or, "+
				"where an identity file names it, an identity of its own does: `picoclaw hub add worker`", s.Worker)
		}
		if err := wait(ctx, renewEvery/2); err != nil {
			return nil, err
		}
	}
}

// say writes the sign of life, if nobody else has since.
func (l *lease) say(ctx context.Context, s sign) error {
	s.envelope, s.Instance = sealed(), l.instance
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sureFor)
	defer cancel()
	m := &nats.Msg{Subject: "$KV." + subject.Placement + "." + subject.SignKey(l.worker), Data: data}
	l.mu.Lock()
	revision := l.revision
	l.mu.Unlock()
	ack, err := l.fleet.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(revision),
		jetstream.WithMsgTTL(signAge), jetstream.WithRetryAttempts(0))
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.revision = ack.Sequence
	l.mu.Unlock()
	return nil
}

// keep renews the lease for as long as it can.
func (l *lease) keep(about func() sign) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.Done():
			return
		case <-tick.C:
			if !l.sure() { // the machine has slept, and the timer with it
				l.lost(errLost)
				return
			}
			_ = l.renew(l, about()) // or time ends it
		}
	}
}

// renew says that the worker lives, and makes the lease last from when it began to. What an acknowledgement that was
// lost may have changed is looked up: it is another life that ends the lease, and time.
func (l *lease) renew(ctx context.Context, s sign) error {
	began := l.now()
	err := l.say(ctx, s)
	if errors.Is(err, jetstream.ErrKeyExists) {
		last, lastErr := l.fleet.latest(ctx, subject.SignKey(l.worker))
		if lastErr != nil {
			return lastErr
		}
		if why := l.over(last); why != nil {
			l.lost(why)
			return errLost
		}
		l.mu.Lock()
		l.revision = last.revision // its own, of which it was not told
		l.mu.Unlock()
		err = l.say(ctx, s)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Err() != nil || l.now() >= l.until {
		return errLost // it is too late: what has been said stays unused
	}
	l.until = began + sureFor
	l.timer.Reset(l.until - l.now())
	return nil
}

// over says why the lease has ended, by what is the last word on the worker; nil if it has not.
func (l *lease) over(last entry) error {
	var other sign
	switch {
	case last.revision < l.revision:
		return errors.New("NATS has lost what it was told, and with it perhaps who has which agent")
	case last.gone: // the worker was away without noticing, as a virtual machine is that was halted
		return errors.New("NATS has not heard of the worker for long")
	case json.Unmarshal(last.value, &other) != nil || other.Instance != l.instance:
		return fmt.Errorf("another worker calls itself %s", l.worker)
	}
	return nil
}

// sure reports whether nobody else can have the worker's agents now.
func (l *lease) sure() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Err() == nil && l.now() < l.until
}

// now is the lease's clock.
func (l *lease) now() time.Duration { return elapsed(l.began) }

// end takes the sign of life away.
func (l *lease) end(ctx context.Context) {
	l.timer.Stop()
	l.lost(errLost)
	l.keeping.Wait()
	_ = l.fleet.placement.Delete(ctx, subject.SignKey(l.worker), jetstream.LastRevision(l.revision)) // or it is silent
}
