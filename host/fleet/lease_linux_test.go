package fleet

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

func leased(t *testing.T, f *Fleet) *lease {
	t.Helper()
	l, err := begin(t.Context(), f, func() sign { return sign{Sign: Sign{Worker: "one"}} }, "life", "",
		func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.end(context.Background()) })
	return l
}

// A machine that sleeps does not run its timers.
func TestALeaseOfAMachineThatHasSleptIsOver(t *testing.T) {
	l := leased(t, joined(t, startNATS(t), "one"))
	if !l.sure() {
		t.Fatal("the lease does not begin")
	}
	l.mu.Lock()
	l.until -= time.Hour // which it has slept
	l.mu.Unlock()
	if l.sure() {
		t.Error("it is sure of its agents")
	}
	<-l.Done()
}

// A NATS that comes back from an old copy of its store does not know any more who has which agent.
func TestALeaseEndsWhenNATSHasLostItsStore(t *testing.T) {
	f := joined(t, startNATS(t), "one")
	l := leased(t, f)
	hosttest.WaitUntil(t, "the lease is renewed", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.revision > 2 })
	if err := f.js.DeleteKeyValue(t.Context(), subject.Placement); err != nil {
		t.Fatal(err)
	}
	joined(t, f.conn.ConnectedUrl(), "another") // and with it another bucket
	<-l.Done()
	if l.sure() {
		t.Error("it is sure of its agents")
	}
}

// A virtual machine that is halted has clocks that stand still. It learns from NATS that it was away.
func TestALeaseEndsWhenNATSHasNotHeardOfTheWorker(t *testing.T) {
	f := joined(t, startNATS(t), "one")
	l := leased(t, f)
	swept := &nats.Msg{Subject: "$KV." + subject.Placement + "." + subject.SignKey("one"),
		Header: nats.Header{"Nats-Marker-Reason": {"MaxAge"}}}
	if err := f.conn.PublishMsg(swept); err != nil {
		t.Fatal(err)
	}
	<-l.Done()
}

// While NATS is away nobody can say that he lives: that is no silence.
func TestAWorkerIsNotSilentWhileNATSIsAway(t *testing.T) {
	f := joined(t, startNATS(t), "one")
	leased(t, f)
	w := newWatch(f)
	if silent, _, err := w.silent(t.Context(), "one"); err != nil || silent {
		t.Fatal(silent, err)
	}
	known := w.seen["one"]
	known.since, known.looked = known.since.Add(-time.Minute), known.looked.Add(-time.Minute)
	last, err := f.latest(t.Context(), subject.SignKey("one"))
	if err != nil {
		t.Fatal(err)
	}
	known.revision = last.revision
	if silent, _, err := w.silent(t.Context(), "one"); err != nil || silent {
		t.Error("it is taken for dead", err)
	}
}

// What keeps a worker out is said once, and who is out for good is told what to do.
func TestAWorkerThatIsNotLetInSaysWhyOnce(t *testing.T) {
	f := joined(t, startNATS(t), "one")
	if err := f.js.DeleteKeyValue(t.Context(), subject.Placement); err != nil {
		t.Fatal(err)
	}
	warned := make(chan error, 100)
	ended := make(chan error, 1)
	go func() {
		_, err := begin(t.Context(), f, func() sign { return sign{Sign: Sign{Worker: "one"}} }, "life", "",
			func(err error) { warned <- err })
		ended <- err
	}()
	<-warned
	time.Sleep(4 * renewEvery)
	if n := len(warned); n > 0 {
		t.Errorf("it is said %d times more, as %v", n, <-warned)
	}
	f.conn.Close()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "new identity") {
			t.Error(err)
		}
	case <-time.After(10 * sureFor):
		t.Error("a worker that is out for good goes on")
	}
}
