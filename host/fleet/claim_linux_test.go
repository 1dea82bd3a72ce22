package fleet

import (
	"context"
	"fmt"
	"testing"

	"github.com/picoclaw/picoclaw/host"
)

// Whoever writes over an agent's placement does not keep its worker from it, and what runs goes on.
func TestAPlacementThatWasWrittenOverIsWrittenAgain(t *testing.T) {
	address := startNATS(t)
	m, evil := newMachine(t, address, "one"), joined(t, address, "evil")
	begun, on := make(chan struct{}), make(chan struct{})
	m.tool(t, "slow", func(context.Context, string, func(host.Event)) *host.Result {
		close(begun)
		<-on
		return &host.Result{Text: "slow is done"}
	})
	w := m.worker(t)
	runs(t, w)
	has(t, evil, "one")
	slow := make(chan *host.Result, 1)
	during := caller(t, joined(t, address, "first"), "main")
	go func() { slow <- during.Call(t.Context(), "slow", args(""), nil) }()
	<-begun
	other := joined(t, address, "gateway")
	s := caller(t, other, "main")
	for n, forged := range []string{
		"forged", `{"v":1,"worker":"nobody","instance":"x"}`, `{"v":9,"needs":9}`, `{"v":1,"worker":"one","instance":"other"}`,
		`{"v":1,"worker":"one","sent":{"from":"nobody","object":"x","digest":"x","proof":"x"}}`, "",
	} {
		was := epochOf(t, evil)
		if _, err := evil.placement.PutString(t.Context(), "main", forged); err != nil {
			t.Fatal(err)
		}
		if forged == "" {
			if err := evil.placement.Delete(t.Context(), "main"); err != nil {
				t.Fatal(err)
			}
		}
		s.client.forget("main")
		if n == 1 { // who calls by what stands there lets the worker know
			go s.Call(t.Context(), "echo", args("hint"), nil)
		} else {
			w.mu.Lock()
			w.served["main"].doubted.Store(true) // as when it is looked at, once a minute
			w.mu.Unlock()
		}
		if p := has(t, evil, "one"); p.epoch <= was+1 || p.Instance == "other" {
			within(t, "the worker's own entry", func() bool {
				p, err := evil.where(t.Context(), "main")
				return err == nil && p.epoch > was+1 && p.Instance != "other"
			})
		}
		if r := s.Call(t.Context(), "echo", args(fmt.Sprint(n)), nil); r.Text != "one says "+fmt.Sprint(n) {
			t.Errorf("%q: %+v", forged, r)
		}
	}
	close(on)
	if r := <-slow; r.Text != "slow is done" {
		t.Errorf("what ran meanwhile: %+v", r)
	}
}

// An entry that names a worker which lives stays as it is.
func TestAPlacementOfAWorkerThatLivesStays(t *testing.T) {
	address := startNATS(t)
	one, two, evil := newMachine(t, address, "one"), newMachine(t, address, "two"), joined(t, address, "evil")
	runs(t, one.worker(t))
	has(t, evil, "one")
	if _, err := evil.placement.PutString(t.Context(), "main", `{"v":1,"worker":"two","instance":"x"}`); err != nil {
		t.Fatal(err)
	}
	runs(t, two.worker(t)) // it takes that for its own, of an earlier life
	p := has(t, evil, "two")
	within(t, "it is the second worker's", func() bool { p = has(t, evil, "two"); return p.Instance != "x" })
	s := caller(t, joined(t, address, "gateway"), "main")
	for range 4 {
		if r := s.Call(t.Context(), "echo", args("hi"), nil); r.Text != "two says hi" {
			t.Errorf("%+v", r)
		}
	}
	if now := has(t, evil, "two"); now.epoch != p.epoch {
		t.Errorf("it is written again and again: %d, %d", p.epoch, now.epoch)
	}
}
