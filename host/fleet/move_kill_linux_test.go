package fleet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/killswitch"
)

// Where a worker was killed at any step of a move, one of the two has the agent then, with all that it had.
func TestWhoIsKilledInAMoveKnowsWhatToDo(t *testing.T) {
	type world struct {
		one, two *machine
		admin    *Fleet
		out, in  *move
		upload   func() *sent // has the workspace in the bucket
		place    func(place)
	}
	done := func(t *testing.T, w *world, winner *machine) {
		t.Helper()
		has(t, w.admin, winner.name)
		loser := w.one
		if winner == w.one {
			loser = w.two
		}
		hosttest.WaitUntil(t, "one copy", func() bool { return winner.files(t) == "a b" && loser.files(t) == "" })
		hosttest.WaitUntil(t, "it is not stopped", func() bool { return killswitch.ReadStopOfAgent(w.one.home, "main") == nil })
	}
	for name, play := range map[string]func(t *testing.T, w *world){
		"before anything was sent": func(t *testing.T, w *world) {
			_ = killswitch.StopAgent(w.one.home, killswitch.Stop{Agent: "main", Time: time.Now(), Why: stopped})
			runs(t, w.one.worker(t))
			done(t, w, w.one)
		},
		"before it was given away": func(t *testing.T, w *world) {
			writeMove(t, w.one, w.out)
			runs(t, w.one.worker(t))
			runs(t, w.two.worker(t))
			done(t, w, w.one)
		},
		"both, when it was given away": func(t *testing.T, w *world) {
			writeMove(t, w.one, w.out)
			writeMove(t, w.two, w.in)
			w.place(place{Worker: "two", Sent: w.upload()})
			runs(t, w.one.worker(t))
			runs(t, w.two.worker(t))
			hosttest.WaitUntil(t, "it is settled", func() bool {
				p, err := w.admin.where(t.Context(), "main")
				return err == nil && p.Sent == nil
			})
			p, _ := w.admin.where(t.Context(), "main")
			done(t, w, map[string]*machine{"one": w.one, "two": w.two}[p.Worker])
		},
		"the target for good": func(t *testing.T, w *world) {
			writeMove(t, w.one, w.out)
			w.place(place{Worker: "two", Sent: w.upload()})
			runs(t, w.one.worker(t))
			done(t, w, w.one)
		},
		"the source, when it was given away": func(t *testing.T, w *world) {
			writeMove(t, w.one, w.out)
			writeMove(t, w.two, w.in)
			w.place(place{Worker: "two", Sent: w.upload()})
			runs(t, w.two.worker(t))
			has(t, w.admin, "two")
			runs(t, w.one.worker(t))
			done(t, w, w.two)
		},
		"the target in the middle of unpacking": func(t *testing.T, w *world) {
			writeMove(t, w.one, w.out)
			w.in.State = unpacking
			writeMove(t, w.two, w.in)
			w.two.write(t, "half", "of it")
			w.place(place{Worker: "two", Sent: w.upload()})
			runs(t, w.two.worker(t))
			has(t, w.admin, "two")
			runs(t, w.one.worker(t))
			done(t, w, w.two)
		},
		"the target in the middle of unpacking, and the source has it again": func(t *testing.T, w *world) {
			w.in.State = unpacking
			writeMove(t, w.two, w.in)
			w.two.write(t, "half", "of it")
			runs(t, w.one.worker(t))
			has(t, w.admin, "one")
			runs(t, w.two.worker(t))
			done(t, w, w.one)
		},
		"the target when it had taken it": func(t *testing.T, w *world) {
			writeMove(t, w.one, w.out)
			w.upload()
			w.in.State = unpacked
			writeMove(t, w.two, w.in)
			w.two.write(t, "a", "text")
			w.two.write(t, "b", "text")
			w.place(place{Worker: "two", Instance: "x", Kept: w.in.proof(proofKept)})
			runs(t, w.two.worker(t))
			hosttest.WaitUntil(t, "it is written down", func() bool {
				data, _ := os.ReadFile(filepath.Join(w.two.home, "fleet", "moves", "main"))
				return strings.Contains(string(data), string(owned))
			})
			runs(t, w.one.worker(t))
			done(t, w, w.two)
		},
		"the source in the middle of removing": func(t *testing.T, w *world) {
			w.upload()
			w.in.State = owned
			writeMove(t, w.two, w.in)
			w.two.write(t, "a", "text")
			w.two.write(t, "b", "text")
			w.out.State = removing
			writeMove(t, w.one, w.out)
			if err := os.Remove(filepath.Join(w.one.workspace, "a")); err != nil {
				t.Fatal(err)
			}
			w.place(place{Worker: "two", Instance: "x", Kept: w.in.proof(proofKept)})
			runs(t, w.two.worker(t))
			runs(t, w.one.worker(t))
			done(t, w, w.two)
		},
		"what was sent is another archive": func(t *testing.T, w *world) {
			writeMove(t, w.one, w.out)
			writeMove(t, w.two, w.in)
			s := w.upload()
			err := w.two.fleet.inbox(t.Context(), "two")
			if err == nil {
				err = storage.Put(t.Context(), w.two.fleet.js, "pc_in_two", "main", s.Object, strings.NewReader("forged"))
			}
			if err != nil {
				t.Fatal(err)
			}
			w.place(place{Worker: "two", Sent: s})
			runs(t, w.one.worker(t))
			runs(t, w.two.worker(t))
			done(t, w, w.one)
		},
		"somebody else says that it was sent": func(t *testing.T, w *world) {
			s := w.upload()
			_ = os.RemoveAll(filepath.Join(w.one.home, "fleet"))
			s.Proof = "forged"
			writeMove(t, w.two, w.in)
			w.place(place{Worker: "two", Sent: s})
			runs(t, w.two.worker(t))
			runs(t, w.one.worker(t))
			done(t, w, w.one)
		},
		"somebody else says that it was kept": func(t *testing.T, w *world) {
			writeMove(t, w.one, w.out)
			w.place(place{Worker: "two", Instance: "x", Kept: "forged"})
			runs(t, w.one.worker(t))
			time.Sleep(2 * renewEvery)
			if w.one.files(t) != "a b" {
				t.Error("the copy is gone")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := startNATS(t)
			w := &world{one: newMachine(t, address, "one"), two: newMachine(t, address, "two"),
				admin: joined(t, address, "admin")}
			w.one.write(t, "a", "text")
			w.one.write(t, "b", "text")
			w.out = &move{Agent: "main", Peer: "two", Key: "k", State: handed}
			w.in = &move{Agent: "main", Peer: "one", Key: "k", State: expected}
			_, err := w.admin.placement.PutString(t.Context(), "main", `{"v":1,"worker":"one","instance":"before"}`)
			if err != nil {
				t.Fatal(err)
			}
			w.place = func(p place) {
				p.envelope = sealed()
				data, _ := json.Marshal(p)
				if _, err := w.admin.placement.Put(t.Context(), "main", data); err != nil {
					t.Fatal(err)
				}
			}
			w.upload = func() *sent {
				if err := w.two.fleet.inbox(t.Context(), "two"); err != nil {
					t.Fatal(err)
				}
				sender := &Worker{fleet: w.one.fleet}
				digest, err := sender.upload(t.Context(), w.one.workspace, "pc_in_two", "main", "object")
				if err != nil {
					t.Fatal(err)
				}
				w.out.Digest, w.in.Digest = digest, digest
				writeMove(t, w.one, w.out)
				return &sent{From: "one", Object: "object", Digest: digest, Proof: w.out.proof(proofSent)}
			}
			play(t, w)
		})
	}
}
