package hub_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// spoken are subjects to which somebody could have JetStream send what they have stored, and what that would do.
func spoken(t *testing.T, ctx context.Context, a *attacker, admin jetstream.JetStream,
	within time.Duration) (done []string) {
	t.Helper()
	came := func(what string, is func() bool) {
		for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if is() {
				done = append(done, what)
				return
			}
		}
	}
	say := func(to, what string) {
		t.Helper()
		if _, err := a.js.Publish(ctx, "$KV.pc_placement.a", []byte(what)); err != nil {
			t.Fatal(err)
		}
		if err := a.conn.PublishRequest("$JS.API.DIRECT.GET.KV_pc_placement.$KV.pc_placement.a", to, nil); err != nil {
			t.Fatal(err)
		}
		if err := a.conn.FlushTimeout(patience); err != nil {
			t.Fatal(err)
		}
	}
	newest := func(stream, of string) string {
		t.Helper()
		s, err := admin.Stream(ctx, stream)
		if err != nil {
			return err.Error()
		}
		m, err := s.GetLastMsgForSubject(ctx, of)
		if err != nil {
			return err.Error()
		}
		return string(m.Data)
	}
	for stream, of := range map[string]string{"KV_pc_placement": "$KV.pc_placement.b",
		"KV_pc_bundles": "$KV.pc_bundles.config", subject.Witness: "pc.main.witness.w2"} {
		before := newest(stream, of)
		say(of, "forged")
		came(of, func() bool { return newest(stream, of) != before })
	}
	before := newest("KV_pc_placement", "$KV.pc_placement.worker.w2")
	say("$KV.pc_placement.worker.w2", "forged")
	came("a sign of life", func() bool { return newest("KV_pc_placement", "$KV.pc_placement.worker.w2") != before })
	say("$JS.API.STREAM.CREATE.tap", `{"name":"tap","subjects":["tapped.>"]}`)
	came("a stream is made", func() bool { _, err := admin.Stream(ctx, "tap"); return err == nil })
	say("$JS.API.CONSUMER.CREATE.OBJ_pc_results.x", `{"stream_name":"OBJ_pc_results","config":{"name":"x"}}`)
	came("a consumer is made", func() bool {
		s, err := admin.Stream(ctx, "OBJ_pc_results")
		return err == nil && s.CachedInfo().State.Consumers > 0
	})
	for _, to := range []string{"pc.main.ws.b.call", "pc.main.out.b.g1.x.y-1", "pc.main.out.b.changed",
		"pc.main.order.w2"} {
		heard, err := admin.Conn().SubscribeSync(to)
		if err == nil {
			err = admin.Conn().FlushTimeout(patience)
		}
		if err != nil {
			t.Fatal(err)
		}
		say(to, `{"do":"drain"}`)
		came(to, func() bool { n, _, _ := heard.Pending(); return n > 0 })
	}
	say("$JS.API.STREAM.DELETE.pc_witness", "")
	came("a stream is deleted", func() bool {
		_, err := admin.Stream(ctx, subject.Witness)
		return errors.Is(err, jetstream.ErrStreamNotFound)
	})
	return done
}

// NATS does not look at where JetStream's answers go. A hub's relay answers at inboxes alone; where there is one
// account for all, each of them is said, stored or obeyed.
func TestWhatJetStreamIsMadeToSayComesToNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	h := newHub(t)
	serve(t, h)
	one := newAttacker(t, add(t, h, "main", identity.Worker, "w1", "a"))
	add(t, h, "main", identity.Worker, "w2", "b")
	admin := newAttacker(t, add(t, h, "main", identity.Admin, "root"))
	for _, on := range []string{"$KV.pc_placement.b", "$KV.pc_placement.worker.w2", "$KV.pc_bundles.config",
		"pc.main.witness.w2"} {
		if _, err := admin.js.Publish(ctx, on, []byte("genuine")); err != nil {
			t.Fatal(err)
		}
	}
	if done := spoken(t, ctx, one, admin.js, time.Second/5); len(done) > 0 {
		t.Errorf("with a hub: %v", done)
	}

	// Patterns as reply subjects take nobody's answers away.
	for _, reply := range []string{">", "_INBOX_root.>", "*.*"} {
		for range 100 {
			if err := one.conn.PublishRequest("$JS.API.DIRECT.GET.KV_pc_placement.$KV.pc_placement.a", reply, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := admin.conn.Request("$JS.API.DIRECT.GET.KV_pc_placement.$KV.pc_placement.b", nil, patience); err != nil {
				t.Fatalf("%s: %v", reply, err)
			}
		}
	}

	free := together(t)
	if done := spoken(t, ctx, free, free.js, patience); len(done) != 11 {
		t.Errorf("where all is one account, what comes of it is only: %v", done)
	}
}

// together is somebody on a server that has one account for all.
func together(t *testing.T) *attacker {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not come up")
	}
	a := &attacker{refusals: &refusals{}}
	if a.conn, err = nats.Connect(s.ClientURL()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.conn.Close)
	if a.js, err = jetstream.New(a.conn); err != nil {
		t.Fatal(err)
	}
	if err := storage.Make(t.Context(), a.conn, "main", []string{"w1", "w2"}); err != nil {
		t.Fatal(err)
	}
	return a
}
