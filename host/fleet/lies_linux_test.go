package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// A gateway that says what is not true gets nothing by it, and keeps nobody else from being served.
func TestAGatewayThatLies(t *testing.T) {
	address := startNATS(t)
	b := &bench{}
	b.tool(t, "much", func(_ context.Context, text string, events func(host.Event)) *host.Result {
		for range 3 * window {
			events(host.Event{Output: []byte(text)})
		}
		return &host.Result{}
	})
	b.tool(t, "echo", func(_ context.Context, text string, _ func(host.Event)) *host.Result {
		return &host.Result{Text: text, Answered: true}
	})
	b.work(t, joined(t, address, "one"), "one")
	f := joined(t, address, "liar")
	for _, left := range []int64{-1, 1 << 62, -1 << 63, 1<<63 - 1} {
		id := fmt.Sprint("left", left)
		if r, _ := said(t, raw(t, f, request{ID: id, Origin: host.CLI, Tool: "echo", LeftMS: left}, args("a"))); r.Kind != kindAnswer {
			t.Errorf("%d: %+v", left, r)
		}
	}
	for i, r := range []request{
		{Origin: host.Cron}, {Origin: host.Main}, {Origin: "root"}, {ID: "\n"}, {ID: "x", Part: -1, Parts: 1 << 40},
		{ID: "x", Part: 1, Parts: -5}, {ID: "y", Part: 2, Parts: 2}, {ID: "z", Part: 1, Parts: 1<<63 - 1},
	} {
		if r.ID == "" {
			r.ID = fmt.Sprint("lie", i)
		}
		raw(t, f, r, args("a"))
	}
	// Calls of which only the beginning comes, many more than may be coming.
	epoch := epochOf(t, f)
	for i := range 10_000 {
		head, err := encode(request{envelope: sealed(), ID: fmt.Sprint("part", i), Epoch: epoch, Origin: host.CLI,
			Tool: "echo", Part: 1, Parts: 9}, make([]byte, 1<<10))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.conn.PublishRequest(f.to("main", subject.Call), f.from("main")+"liar.x-1", head); err != nil {
			t.Fatal(err)
		}
	}
	// Credit for what was never sent.
	stuck := raw(t, f, request{ID: "credit", Origin: host.CLI, Tool: "much", Events: true}, args("a"))
	credit, err := json.Marshal(request{envelope: sealed(), ID: "credit", Epoch: epoch, Seen: 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := f.conn.PublishRequest(f.to("main", subject.Credit), f.from("main")+"liar.x-1", append(credit, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	s := caller(t, joined(t, address, "honest"), "main")
	if r := s.Call(t.Context(), "echo", args("hi"), nil); r.Err != nil || r.Text != "hi" {
		t.Errorf("%+v %v", r, r.Err)
	}
	for range window {
		if r, _ := said(t, stuck); r.Kind != kindEvent {
			t.Errorf("%+v", r)
		}
	}
	if n, _, err := stuck.Pending(); err != nil || n > 0 {
		t.Errorf("%d more were sent to a reader that has read none, %v", n, err)
	}
}

func epochOf(t *testing.T, f *Fleet) uint64 {
	t.Helper()
	p, err := f.where(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	return p.epoch
}
