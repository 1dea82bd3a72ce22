package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/fleet/archive"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/killswitch"
)

// gone is when a machine has neither a copy nor anything left to do about it.
func (m *machine) gone(t *testing.T) bool {
	t.Helper()
	return m.files(t) == "" && killswitch.ReadStopOfAgent(m.home, "main") == nil
}

// A move has ended when the source has no copy any more: what is done to the target then leaves nothing behind.
func TestAMoveHasEndedWhereItBegan(t *testing.T) {
	address := startNATS(t)
	one, two, admin := newMachine(t, address, "one"), newMachine(t, address, "two"), joined(t, address, "admin")
	one.write(t, "a", "text")
	runs(t, one.worker(t))
	has(t, admin, "one")
	runs(t, two.worker(t))
	there(t, admin, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var told []string
	if err := admin.Move(ctx, "main", "two", func(state string) { told = append(told, state) }); err != nil {
		t.Fatal(err)
	}
	if !one.gone(t) {
		t.Errorf("the source still has %q", one.files(t))
	}
	if len(told) == 0 || told[len(told)-1] != "the copy on one is removed" {
		t.Errorf("%q", told)
	}
	if err := admin.Drain(ctx, "two"); err != nil {
		t.Fatal(err)
	}
	has(t, admin, "one")
}

// A copy that stays is said to.
func TestAMoveTellsOfACopyThatStays(t *testing.T) {
	address := startNATS(t)
	one, two, admin := newMachine(t, address, "one"), newMachine(t, address, "two"), joined(t, address, "admin")
	one.write(t, "a", "text")
	w := one.worker(t)
	sent := false
	w.options.Workspace = func(string) (string, error) {
		if sent {
			return "", errors.New("another agent has it too")
		}
		sent = true
		return one.workspace, nil
	}
	runs(t, w)
	has(t, admin, "one")
	runs(t, two.worker(t))
	there(t, admin, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	last := ""
	err := admin.Move(ctx, "main", "two", func(state string) { last = state })
	if err != nil || last != "the copy on one stays: another agent has it too" || one.files(t) != "a" {
		t.Errorf("%v: %q", err, last)
	}
}

// Where the target leaves the agent before the source has seen that it was taken, the source learns it all the same. It
// takes the agent then, since nobody else does.
func TestATargetThatLeavesKeepsTheProof(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, address string, admin *Fleet, stop func()){
		"drained": func(t *testing.T, _ string, admin *Fleet, _ func()) {
			if err := admin.Drain(t.Context(), "two"); err != nil {
				t.Fatal(err)
			}
		},
		"stopped": func(_ *testing.T, _ string, _ *Fleet, stop func()) { stop() },
		"and another has had it since": func(t *testing.T, address string, admin *Fleet, stop func()) {
			stop()
			end := runs(t, newMachine(t, address, "three").worker(t))
			has(t, admin, "three")
			end()
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := startNATS(t)
			one, two, admin := newMachine(t, address, "one"), newMachine(t, address, "two"), joined(t, address, "admin")
			one.write(t, "a", "text")
			two.write(t, "a", "text")
			digest := one.digest(t)
			out := &move{Agent: "main", Peer: "two", Key: "k", State: handed, Digest: digest}
			in := &move{Agent: "main", Peer: "one", Key: "k", State: owned, Digest: digest}
			writeMove(t, one, out)
			writeMove(t, two, in)
			stop := runs(t, two.worker(t))
			has(t, admin, "two")
			leave(t, address, admin, stop)
			_, agents, err := admin.Status(t.Context())
			if err != nil || len(agents) > 0 {
				t.Errorf("an agent that nobody has is listed: %+v %v", agents, err)
			}
			runs(t, one.worker(t))
			hosttest.WaitUntil(t, "the copy is gone", func() bool { return one.gone(t) })
			has(t, admin, "one")
			if two.files(t) != "a" {
				t.Errorf("the target has %q", two.files(t))
			}
		})
	}
}

// A source that is drained while its agent is on its way sees to what it has sent.
func TestASourceThatIsDrainedEndsItsMove(t *testing.T) {
	address := startNATS(t)
	one, two, admin := newMachine(t, address, "one"), newMachine(t, address, "two"), joined(t, address, "admin")
	one.write(t, "a", "text")
	w := one.worker(t)
	runs(t, w)
	has(t, admin, "one")
	if err := admin.Drain(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	m := &move{Agent: "main", Peer: "two", Key: "k", State: handed, Digest: one.digest(t)}
	writeMove(t, two, &move{Agent: "main", Peer: "one", Key: "k", State: owned, Digest: m.Digest})
	runs(t, two.worker(t))
	has(t, admin, "two")
	if err := w.note("main", m); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitUntil(t, "the copy is gone", func() bool { return one.gone(t) })
	has(t, admin, "two")
}

// digest is what the workspace would be sent with.
func (m *machine) digest(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	if err := archive.Pack(t.Context(), m.workspace, sum, archive.DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// What others have removed, with whatever words, is nobody's.
func TestAPlacementThatWasRemovedIsNobodys(t *testing.T) {
	address := startNATS(t)
	one, admin := newMachine(t, address, "one"), joined(t, address, "admin")
	if _, err := admin.placement.PutString(t.Context(), "main", `{"v":9,"needs":9}`); err != nil {
		t.Fatal(err)
	}
	if err := admin.placement.Delete(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if p, err := admin.last(t.Context(), "main"); err != nil || !p.left || p.Worker != "" {
		t.Errorf("%+v %v", p, err)
	}
	runs(t, one.worker(t))
	has(t, admin, "one")
}
