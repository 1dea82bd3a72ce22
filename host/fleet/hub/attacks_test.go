package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// refusals gathers what the server refuses one connection.
type refusals struct {
	mu   sync.Mutex
	said []string
}

func (r *refusals) handle(_ *nats.Conn, _ *nats.Subscription, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(err, nats.ErrPermissionViolation) {
		r.said = append(r.said, err.Error())
	}
}

func (r *refusals) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := r.said
	r.said = nil
	return said
}

// attacker is somebody who has a key and speaks NATS.
type attacker struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	refusals *refusals
}

func newAttacker(t *testing.T, file string) *attacker {
	a := &attacker{refusals: &refusals{}}
	a.conn = connect(t, file, nats.ErrorHandler(a.refusals.handle))
	var err error
	if a.js, err = jetstream.New(a.conn); err != nil {
		t.Fatal(err)
	}
	return a
}

// settle waits until the server has dealt with what was sent, and returns what it has said by then that it refuses.
func (a *attacker) settle(t *testing.T) []string {
	t.Helper()
	return a.saidWithin(t, time.Second/5)
}

// refused reports whether the server refuses something of what was sent.
func (a *attacker) refused(t *testing.T) bool {
	t.Helper()
	return len(a.saidWithin(t, patience)) > 0
}

func (a *attacker) saidWithin(t *testing.T, within time.Duration) []string {
	t.Helper()
	// What is refused is told before the answer to a ping, by one goroutine, and handed to the handler by another.
	if err := a.conn.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	sub, err := a.conn.Subscribe(a.conn.NewInbox(), func(*nats.Msg) {})
	if err != nil {
		t.Fatal(err)
	}
	sub.SetClosedHandler(func(string) { close(done) })
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	<-done
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if said := a.refusals.take(); len(said) > 0 {
			return said
		}
	}
	return nil
}

// an attack is one request or subscription of w1's, who may serve a alone.
type attack struct {
	name string
	do   func(a *attacker) error
}

func publishes(on string) func(*attacker) error {
	return func(a *attacker) error { return a.conn.Publish(on, []byte(`{}`)) }
}

func subscribes(to string) func(*attacker) error {
	return func(a *attacker) error { _, err := a.conn.SubscribeSync(to); return err }
}

func asks(on string, what any) func(*attacker) error {
	return func(a *attacker) error {
		text, err := json.Marshal(what)
		if err != nil {
			return err
		}
		return a.conn.PublishRequest(on, a.conn.NewInbox(), text)
	}
}

// consumer is a request for a consumer with a filter, sent under some subject.
func consumer(on, stream string, config jetstream.ConsumerConfig) func(*attacker) error {
	return asks("$JS.API.CONSUMER."+on, map[string]any{"stream_name": stream, "config": config})
}

var attacks = []attack{
	{"listen to another agent's calls", subscribes("pc.main.ws.b.call")},
	{"listen to all calls", subscribes("pc.main.ws.>")},
	{"listen to all calls, in a queue", func(a *attacker) error {
		_, err := a.conn.QueueSubscribeSync("pc.main.ws.*.call", "q")
		return err
	}},
	{"listen to everything", subscribes(">")},
	{"listen to one's own agent's answers", subscribes("pc.main.out.a.>")},
	{"listen to another agent's answers", subscribes("pc.main.out.b.>")},
	{"listen to a gateway's inbox", subscribes("_INBOX_g1.>")},
	{"listen to another worker's inbox", subscribes("_INBOX_w2.>")},
	{"listen to inboxes by a pattern", subscribes("*.>")},
	{"listen to the hub's", subscribes("_INBOX_hub.>")},
	{"listen to placements as they are written", subscribes("$KV.pc_placement.>")},
	{"listen to results as they are written", subscribes("$O.pc_results.>")},
	{"listen to archives as they are written", subscribes("$O.pc_in_w2.>")},
	{"listen to witnesses", subscribes("pc.main.witness.>")},
	{"listen to JetStream", subscribes("$JS.>")},
	{"listen to advisories", subscribes("$JS.EVENT.>")},
	{"listen to the system", subscribes("$SYS.>")},

	{"call another agent", publishes("pc.main.ws.b.call")},
	{"call one's own", publishes("pc.main.ws.a.call")},
	{"cancel another's", publishes("pc.main.ws.b.cancel")},
	{"answer for another agent", publishes("pc.main.out.b.x1")},
	{"answer into a gateway's inbox", publishes("_INBOX_g1.x.1")},
	{"place another agent", publishes("$KV.pc_placement.b")},
	{"place an agent below one's own", publishes("$KV.pc_placement.a.b")},
	{"give another's sign of life", publishes("$KV.pc_placement.worker.w2")},
	{"publish a bundle", publishes("$KV.pc_bundles.config")},
	{"witness for another", publishes("pc.main.witness.w2")},
	{"ask for services", asks("$SRV.PING", nil)},
	{"drain another worker", publishes("pc.main.order.w2")},
	{"give orders to oneself", publishes("pc.main.order.w1")},
	{"hear another's orders", subscribes("pc.main.order.w2")},
	{"hear all orders", subscribes("pc.main.order.>")},

	{"read another's archive: consumer", consumer("CREATE.OBJ_pc_in_w2.x.$O.pc_in_w2.>", "OBJ_pc_in_w2",
		jetstream.ConsumerConfig{Name: "x", FilterSubject: "$O.pc_in_w2.>"})},
	{"read another's archive: direct", asks("$JS.API.DIRECT.GET.OBJ_pc_in_w2.$O.pc_in_w2.C.x", nil)},
	{"read another's archive: by sequence", asks("$JS.API.DIRECT.GET.OBJ_pc_in_w2", map[string]any{"seq": 1})},
	{"read another's archive: message", asks("$JS.API.STREAM.MSG.GET.OBJ_pc_in_w2", map[string]any{"seq": 1})},
	{"read results: consumer", consumer("CREATE.OBJ_pc_results.x.$O.pc_results.>", "OBJ_pc_results",
		jetstream.ConsumerConfig{Name: "x", FilterSubject: "$O.pc_results.>"})},
	{"read results: legacy consumer", consumer("CREATE.OBJ_pc_results", "OBJ_pc_results", jetstream.ConsumerConfig{})},
	{"read results: durable consumer", consumer("DURABLE.CREATE.OBJ_pc_results.x", "OBJ_pc_results",
		jetstream.ConsumerConfig{Durable: "x"})},
	{"read results: direct", asks("$JS.API.DIRECT.GET.OBJ_pc_results.$O.pc_results.C.x", nil)},
	{"read results: message", asks("$JS.API.STREAM.MSG.GET.OBJ_pc_results", map[string]any{"seq": 1})},
	{"read results: another's consumer", asks("$JS.API.CONSUMER.MSG.NEXT.OBJ_pc_results.x", nil)},
	{"read witnesses", consumer("CREATE.pc_witness.x.pc.main.witness.>", "pc_witness",
		jetstream.ConsumerConfig{Name: "x", FilterSubject: "pc.main.witness.>"})},
	{"read results: by sequence", asks("$JS.API.DIRECT.GET.OBJ_pc_results", map[string]any{"seq": 1})},
	{"see what results there are", asks("$JS.API.STREAM.INFO.OBJ_pc_results", nil)},
	{"read placements by a consumer", consumer("CREATE.KV_pc_placement.x.$KV.pc_placement.a", "KV_pc_placement",
		jetstream.ConsumerConfig{Name: "x", FilterSubject: "$KV.pc_placement.a", DeliverSubject: "pc.main.ws.b.call"})},
	{"report for another worker", publishes("pc.main.report.w2.x")},
	{"answer where a caller says", publishes("pc.main.order.w2.x")},
	{"list consumers", asks("$JS.API.CONSUMER.NAMES.OBJ_pc_results", nil)},
	{"list streams", asks("$JS.API.STREAM.NAMES", nil)},
	{"look at a consumer", asks("$JS.API.CONSUMER.INFO.OBJ_pc_results.x", nil)},

	{"make a stream of calls", asks("$JS.API.STREAM.CREATE.mine", jetstream.StreamConfig{Name: "mine",
		Subjects: []string{"pc.main.ws.>"}})},
	{"change a stream", asks("$JS.API.STREAM.UPDATE.KV_pc_placement", jetstream.StreamConfig{Name: "KV_pc_placement"})},
	{"delete a stream", asks("$JS.API.STREAM.DELETE.KV_pc_placement", nil)},
	{"delete another's archives", asks("$JS.API.STREAM.DELETE.OBJ_pc_in_w2", nil)},
	{"purge placements", asks("$JS.API.STREAM.PURGE.KV_pc_placement", nil)},
	{"purge results", asks("$JS.API.STREAM.PURGE.OBJ_pc_results", nil)},
	{"purge another's archives", asks("$JS.API.STREAM.PURGE.OBJ_pc_in_w2", nil)},
	{"delete a message", asks("$JS.API.STREAM.MSG.DELETE.KV_pc_placement", map[string]any{"seq": 1})},
	{"delete another's consumer", asks("$JS.API.CONSUMER.DELETE.OBJ_pc_results.x", nil)},
	{"restore a stream", asks("$JS.API.STREAM.RESTORE.mine", nil)},
	{"snapshot a stream", asks("$JS.API.STREAM.SNAPSHOT.OBJ_pc_results",
		map[string]any{"deliver_subject": "pc.main.out.a.x"})},
	{"let oneself in", publishes("$SYS.REQ.CLAIMS.UPDATE")},
	{"trace a message to elsewhere", func(a *attacker) error {
		m := nats.NewMsg("pc.main.out.a.x")
		m.Header.Set("Nats-Trace-Dest", "pc.main.ws.b.call")
		return a.conn.PublishMsg(m)
	}},
}

// Each attack is made twice: with a worker's key, where the server has to refuse it, and with one that may do anything,
// where it must not, or the attack would show nothing.
func TestAStolenWorkersKeyReachesItsOwnAgentsOnly(t *testing.T) {
	h := newHub(t)
	serve(t, h)
	stolen := newAttacker(t, add(t, h, "main", identity.Worker, "w1", "a"))
	add(t, h, "main", identity.Worker, "w2", "b")
	free := newAttacker(t, add(t, h, "main", identity.Admin, "root"))
	for _, c := range attacks {
		t.Run(c.name, func(t *testing.T) {
			if err := c.do(stolen); err != nil {
				t.Fatal(err)
			}
			if !stolen.refused(t) {
				t.Error("a worker's key may do that")
			}
			if err := c.do(free); err != nil {
				t.Fatal(err)
			}
		})
	}
	if said := free.settle(t); len(said) > 0 {
		t.Errorf("without permissions it is refused too: %v", said)
	}
}

// What is not refused by its subject is refused by what is in it, or comes to nothing.
func TestWhatAWorkersKeyMaySayCantBeBent(t *testing.T) {
	h := newHub(t)
	serve(t, h)
	one := newAttacker(t, add(t, h, "main", identity.Worker, "w1", "a"))
	two := newAttacker(t, add(t, h, "main", identity.Worker, "w2", "b"))
	gateway := newAttacker(t, add(t, h, "main", identity.Gateway, "g1"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	placement, err := two.js.KeyValue(ctx, subject.Placement)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := placement.Create(ctx, "b", []byte("w2")); err != nil {
		t.Fatal(err)
	}

	t.Run("a roll-up of everything", func(t *testing.T) {
		m := nats.NewMsg("$KV.pc_placement.a")
		m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupAll)
		if _, err := one.js.PublishMsg(ctx, m); err == nil {
			t.Error("it is taken")
		}
		if _, err := placement.Get(ctx, "b"); err != nil {
			t.Errorf("another's placement is gone: %v", err)
		}
	})
	t.Run("what a gateway may not", func(t *testing.T) {
		for _, c := range []attack{
			{"give an order", publishes("pc.main.order.w2")},
			{"ask for services", asks("$SRV.PING", nil)},
			{"hear what another gateway is answered", subscribes("pc.main.out.b.g2.>")},
			{"hear all answers", subscribes("pc.main.out.>")},
			{"answer", publishes("pc.main.out.b.g2.x")},
			{"read archives", asks("$JS.API.DIRECT.GET.OBJ_pc_in_w2", map[string]any{"seq": 1})},
			{"make a consumer", consumer("CREATE.OBJ_pc_results.x", "OBJ_pc_results", jetstream.ConsumerConfig{Name: "x"})},
		} {
			if err := c.do(gateway); err != nil {
				t.Fatal(err)
			}
			if !gateway.refused(t) {
				t.Errorf("%s: a gateway's key may do that", c.name)
			}
		}
	})
	t.Run("an answer where a gateway says", func(t *testing.T) {
		calls, err := one.conn.SubscribeSync("pc.main.ws.a.call")
		if err != nil {
			t.Fatal(err)
		}
		if err := one.conn.FlushTimeout(patience); err != nil {
			t.Fatal(err)
		}
		for _, reply := range []string{"pc.main.order.w2", "pc.main.out.b.g2.x", "$KV.pc_placement.b"} {
			if err := gateway.conn.PublishRequest("pc.main.ws.a.call", reply, nil); err != nil {
				t.Fatal(err)
			}
			m, err := calls.NextMsg(patience)
			if err == nil {
				err = m.Respond([]byte(`{"do":"drain"}`))
			}
			if err != nil {
				t.Fatal(err)
			}
			if !one.refused(t) {
				t.Errorf("a worker may answer to %s", reply)
			}
		}
	})
}

// Workers write into the buckets of objects, which docs/hub.md says: one message can remove what others have put there.
// When this fails, a wall has come that the page does not know of.
func TestWhatNATSLeavesOpen(t *testing.T) {
	h := newHub(t)
	serve(t, h)
	one := newAttacker(t, add(t, h, "main", identity.Worker, "w1", "a"))
	two := newAttacker(t, add(t, h, "main", identity.Worker, "w2", "b"))
	gateway := newAttacker(t, add(t, h, "main", identity.Gateway, "g1"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := storage.Put(ctx, two.js, subject.Results, "b", "b.1", strings.NewReader("a result")); err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Open(ctx, gateway.js, subject.Results, "b.1"); err != nil {
		t.Fatal(err)
	}
	m := nats.NewMsg("$O.pc_results.M.x")
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupAll)
	if _, err := one.js.PublishMsg(ctx, m); err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Open(ctx, gateway.js, subject.Results, "b.1"); err == nil {
		t.Error("others' results are still there")
	}
}

func TestTenantsDoNotHearEachOther(t *testing.T) {
	h := newHub(t)
	serve(t, h)
	if err := h.AddTenant(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	if err := h.AddTenant(t.Context(), "other"); err == nil {
		t.Error("a tenant is made twice")
	}
	here := newAttacker(t, add(t, h, "main", identity.Admin, "root"))
	there := newAttacker(t, add(t, h, "other", identity.Admin, "root"))
	heard, err := here.conn.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	if err := here.conn.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"pc.main.ws.a.call", "pc.main.out.a.x", "_INBOX_root.x", "$KV.pc_placement.a"} {
		if err := there.conn.Publish(to, []byte("from elsewhere")); err != nil {
			t.Fatal(err)
		}
	}
	there.settle(t)
	if err := here.conn.Publish("pc.main.end", nil); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := heard.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject == "pc.main.end" {
			break
		}
		if string(m.Data) == "from elsewhere" {
			t.Errorf("%s comes from another tenant", m.Subject)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	kv, err := here.js.KeyValue(ctx, subject.Placement)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Get(ctx, "a"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("another tenant has placed an agent: %v", err)
	}
}
