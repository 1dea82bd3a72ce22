package hub_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// Roles can do their work, with NATS's clients as they are.
func TestRolesCanDoTheirWork(t *testing.T) {
	h := newHub(t)
	serve(t, h)
	one := newAttacker(t, add(t, h, "main", identity.Worker, "w1", "a", "x-y"))
	two := newAttacker(t, add(t, h, "main", identity.Worker, "w2", "a"))
	gateway := newAttacker(t, add(t, h, "main", identity.Gateway, "g1"))
	admin := newAttacker(t, add(t, h, "main", identity.Admin, "root"))
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	t.Run("calls", func(t *testing.T) {
		for _, agent := range []string{"a", "x-y"} {
			_, err := one.conn.Subscribe(subject.Workspace("main", agent, ">"), func(m *nats.Msg) {
				for range 3 { // as many as it has to say
					_ = m.Respond([]byte("done"))
				}
			})
			must(err)
			must(one.conn.FlushTimeout(patience))
			answers := subject.Answers("main", agent) + subject.Caller("g1") + rand.Text()
			sub, err := gateway.conn.SubscribeSync(answers)
			must(err)
			must(gateway.conn.PublishRequest(subject.Workspace("main", agent, subject.Call), answers, nil))
			for range 3 {
				_, err := sub.NextMsg(patience)
				must(err)
			}
		}
	})
	t.Run("placement", func(t *testing.T) {
		kv, err := one.js.KeyValue(ctx, subject.Placement)
		must(err)
		_, err = kv.Put(ctx, subject.SignKey("w1"), []byte("alive"))
		must(err)
		must(kv.Delete(ctx, subject.SignKey("w1")))
		revision, err := kv.Create(ctx, "a", []byte("w1"), jetstream.KeyTTL(time.Hour))
		must(err)
		seen, err := gateway.js.KeyValue(ctx, subject.Placement)
		must(err)
		if e, err := seen.Get(ctx, "a"); err != nil || string(e.Value()) != "w1" {
			t.Errorf("a gateway sees %v %v", e, err)
		}
		_, err = kv.Update(ctx, "a", []byte("w1 again"), revision)
		must(err)
		if _, err = kv.Update(ctx, "a", []byte("late"), revision); err == nil {
			t.Error("an old revision counts")
		}
		must(kv.Delete(ctx, "a"))
		_, err = kv.Create(ctx, "a", []byte("short"), jetstream.KeyTTL(time.Second))
		must(err)
		for {
			if _, err := kv.Get(ctx, "a"); err != nil {
				break // it has expired
			}
			time.Sleep(50 * time.Millisecond)
			must(ctx.Err())
		}
		other, err := two.js.KeyValue(ctx, subject.Placement)
		must(err)
		_, err = other.Create(ctx, "a", []byte("w2"))
		must(err)
	})
	t.Run("results and archives", func(t *testing.T) {
		data := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
		for bucket, reader := range map[string]*attacker{subject.Results: gateway, subject.In("w2"): two} {
			must(storage.Put(ctx, one.js, bucket, "a", "a."+bucket, bytes.NewReader(data)))
			from, err := storage.Open(ctx, reader.js, bucket, "a."+bucket)
			must(err)
			got, err := io.ReadAll(from)
			must(err)
			if !bytes.Equal(got, data) {
				t.Errorf("%s: %d bytes", bucket, len(got))
			}
			if reader == two {
				must(storage.Clean(ctx, two.js, bucket, "a"))
			}
		}
	})
	t.Run("orders", func(t *testing.T) {
		_, err := one.conn.Subscribe(subject.Orders("main", "w1"), func(m *nats.Msg) { _ = m.Respond([]byte("done")) })
		must(err)
		_, err = micro.AddService(one.conn, micro.Config{Name: "picoclaw", Version: "1.0.0"}) // nobody is answered by it
		must(err)
		must(one.conn.FlushTimeout(patience))
		at := subject.Reports("main", "w1") + rand.Text()
		reports, err := admin.conn.SubscribeSync(at)
		must(err)
		must(admin.conn.PublishRequest(subject.Orders("main", "w1"), at, nil))
		_, err = reports.NextMsg(patience)
		must(err)
	})
	t.Run("bundles and witness", func(t *testing.T) {
		kv, err := admin.js.KeyValue(ctx, subject.Bundles)
		must(err)
		_, err = kv.Put(ctx, "config", []byte("x"))
		must(err)
		read, err := one.js.KeyValue(ctx, subject.Bundles)
		must(err)
		if e, err := read.Get(ctx, "config"); err != nil || string(e.Value()) != "x" {
			t.Errorf("a worker sees %v %v", e, err)
		}
		_, err = one.js.Publish(ctx, subject.WitnessOf("main", "w1"), []byte(`{}`))
		must(err)
		stream, err := gateway.js.Stream(ctx, subject.Witness)
		must(err)
		_, err = stream.GetLastMsgForSubject(ctx, subject.WitnessOf("main", "w1"))
		must(err)
	})
	for name, of := range map[string]*attacker{"w1": one, "w2": two, "gateway": gateway} {
		if said := of.settle(t); len(said) > 0 {
			t.Errorf("%s is refused what it needs: %v", name, said)
		}
	}
}
