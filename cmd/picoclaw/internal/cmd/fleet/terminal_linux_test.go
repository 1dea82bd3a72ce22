package fleet_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/fleet/witness"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// Who has a worker's key may write anything where an operator looks.
func TestWorkersDoNotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	f := newFleetOf(t)
	conn, id, err := identity.Connect(f.identities["one"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const evil = "a\x1b]0;owned\x07\u009b31mb"
	says := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	place := func(agent, worker, why string) {
		data := says(map[string]any{"v": 1, "worker": worker, "instance": "x", "why": why})
		if _, err := conn.Request("$KV."+subject.Placement+"."+agent, data, 10*time.Second); err != nil {
			t.Error(err)
		}
	}
	place("main", evil, "")
	place("site", "one", "")

	var placed sync.WaitGroup
	defer placed.Wait()
	two, _, err := identity.Connect(f.identities["two"])
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	for name, conn := range map[string]*nats.Conn{"one": conn, "two": two} {
		if _, err := conn.Subscribe(subject.Orders(id.Tenant, name), func(m *nats.Msg) {
			var order struct{ Do string }
			_ = json.Unmarshal(m.Data, &order)
			_ = m.Respond(says(map[string]any{"v": 1, "state": evil}))
			if order.Do == "tell" {
				placed.Go(func() { place("site", "one", evil) }) // the move ends
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	tell, err := witness.Teller(conn, id.Tenant, id.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := tell(t.Context(), []byte(evil)); err != nil {
		t.Fatal(err)
	}

	const shown = "a\ufffd]0;owned\ufffd\ufffd31mb"
	for _, c := range []struct {
		args  string
		times int
	}{
		{"fleet status --fleet " + f.admin, 1}, {"fleet where main --fleet " + f.admin, 1},
		{"fleet move site two --fleet " + f.admin, 2}, {"hub witness one --tenant team", 1},
	} {
		seen := clitest.StartPicoclawTerminal(t, f.center.Dir, []string{"NO_COLOR=1"}, strings.Fields(c.args)...)
		_ = seen.Wait() // some fail, as they should
		hosttest.WaitUntil(t, "the answer is there: "+seen.UnreadText(),
			func() bool { return strings.Count(seen.UnreadText(), "owned") >= c.times })
		if strings.ContainsAny(seen.UnreadText(), "\x07\u009b\x1b") || strings.Count(seen.UnreadText(), shown) < c.times {
			t.Errorf("%s: the terminal got %q", c.args, seen.UnreadText())
		}
	}
	plain := f.center.Command(f.center.Program, "hub", "witness", "one", "--tenant", "team")
	if out, err := plain.Output(); err != nil || string(out) != evil+"\n" {
		t.Errorf("a pipe got %q (%v)", out, err)
	}
}
