package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

// odd puts a FIFO, a socket and, as root, a device into a directory.
func odd(t *testing.T, dir string) (lost []string) {
	t.Helper()
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o640); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // the path of a socket is short
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "sock\n", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	lost = append(lost, `sock\n" (a socket)`)
	if os.Getuid() == 0 {
		if err := unix.Mknod("null", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
			t.Fatal(err)
		}
		lost = append(lost, "null (a device)")
	}
	return lost
}

func without(snapshot []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(snapshot), func(line string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(line, name) })
	})
}

// A FIFO comes back, and what can't come back is named and keeps nothing else from it.
func TestUndoRestoresAroundSpecialFiles(t *testing.T) {
	for name, call := range map[string]struct {
		tool string
		args args
	}{
		"a deleted directory": {"rm", args{"path": "d", "recursive": true}},
		"a move onto a tree":  {"mv", args{"source": "other", "destination": "d", "overwrite": true}},
		"a copy onto a tree":  {"cp", args{"source": "other", "destination": "d", "overwrite": true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, map[string]string{"d/x": "x", "d/e/y": "y", "other/z": "z"})
			lost := odd(t, filepath.Join(p.Dir, "d", "e"))
			before := without(snapshot(t, p), "/d/e/sock", "/d/e/null")
			for range 2 {
				out := must(t, p, call.tool, call.args)
				wantLost(t, out["notes"], "undo can't bring back", lost)
				after := snapshot(t, p)
				out = must(t, p, "undo", args{})
				wantLost(t, out["notes"], "not brought back", lost)
				if now := snapshot(t, p); !slices.Equal(now, before) {
					t.Fatalf("undone, there is\n%q; before there was\n%q", now, before)
				}
				out = must(t, p, "undo", args{"id": out["undo"]})
				if now := snapshot(t, p); !slices.Equal(now, after) {
					t.Fatalf("done again, there is\n%q; not\n%q", now, after)
				}
				must(t, p, "undo", args{"id": out["undo"]})
				lost = nil // they are gone, so the second time there is nothing to lose
			}
		})
	}
}

func wantLost(t *testing.T, notes any, say string, lost []string) {
	t.Helper()
	all := fmt.Sprint(notes)
	if len(lost) == 0 && notes != nil {
		t.Errorf("the notes are %s", all)
	}
	for _, name := range lost {
		if !strings.Contains(all, say) || !strings.Contains(all, name) {
			t.Errorf("the notes are %s; want %s: %s", all, say, name)
		}
	}
}

// Alone each is the same.
func TestUndoOfSingleSpecialFile(t *testing.T) {
	p := start(t, map[string]string{"f": "f"})
	lost := odd(t, p.Dir)
	before := snapshot(t, p)
	must(t, p, "rm", args{"path": "fifo"})
	must(t, p, "undo", args{})
	if now := snapshot(t, p); !slices.Equal(now, before) {
		t.Errorf("undone, there is\n%q; before there was\n%q", now, before)
	}
	moved := must(t, p, "mv", args{"source": "f", "destination": "sock\n", "overwrite": true})
	wantLost(t, moved["notes"], "undo can't bring back", lost[:1])
	must(t, p, "undo", args{})
	if now := snapshot(t, p); !slices.Equal(now, without(before, "/sock")) {
		t.Errorf("undone, there is\n%q; before there was\n%q", now, before)
	}
	if os.Getuid() != 0 {
		return
	}
	out := must(t, p, "rm", args{"path": "null"})
	if r := p.Call("undo", args{}); out["undo"] != nil || !strings.Contains(r.Err.GetMessage(), "(a device)") {
		t.Errorf("%v; then %q, %v", out, r.Text, r.Err)
	}
}

// Where an owner is one that a sandbox has no number for, undo says that what it brings back has changed hands.
func TestUndoReportsChangedOwner(t *testing.T) {
	if os.Getuid() != 0 {
		return
	}
	p := start(t, map[string]string{"d/f": "f", "d/g": "g"})
	for _, name := range []string{"d/f", "d/g"} {
		if err := os.Chown(filepath.Join(p.Dir, name), 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	must(t, p, "rm", args{"path": "d", "recursive": true})
	notes := fmt.Sprint(must(t, p, "undo", args{})["notes"])
	for _, name := range []string{"d/f", "d/g"} {
		if !strings.Contains(notes, filepath.Join(p.Dir, name)+" (owner)") {
			t.Errorf("the notes are %s", notes)
		}
	}
}

// As root a file comes back to whom it belonged.
func TestUndoRestoresOwner(t *testing.T) {
	if os.Getuid() != 0 {
		return
	}
	for name, call := range map[string]args{"alone": {"path": "d/f"}, "in a directory": {"path": "d", "recursive": true}} {
		t.Run(name, func(t *testing.T) {
			p := sdktest.Start(t, newPlugin(), sdktest.Options{Files: map[string]string{"d/f": "f"}})
			path := filepath.Join(p.Dir, "d", "f")
			if err := os.Chown(path, 1234, 5678); err != nil {
				t.Fatal(err)
			}
			must(t, p, "rm", call)
			if out := must(t, p, "undo", args{}); out["notes"] != nil {
				t.Errorf("the notes are %v", out["notes"])
			}
			var is unix.Stat_t
			if err := unix.Stat(path, &is); err != nil || is.Uid != 1234 || is.Gid != 5678 {
				t.Errorf("it belongs to %d:%d, %v", is.Uid, is.Gid, err)
			}
		})
	}
}

// There are two kinds in a listing: what can be listed in turn, by a link too, and what can't.
func TestLinkToDirectoryIsListedAsDirectory(t *testing.T) {
	p := start(t, map[string]string{"d/x": "x", "f": "x"})
	for link, to := range map[string]string{"to-d": "d", "to-f": "f", "to-link": "to-d", "out": "/usr", "nowhere": "none",
		"loop": "loop", "d/up": ".."} {
		if err := os.Symlink(to, filepath.Join(p.Dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(p.Dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"":     "DIR: d\nFILE: f\nFILE: fifo\nFILE: loop\nFILE: nowhere\nFILE: out\nDIR: to-d\nFILE: to-f\nDIR: to-link",
		"to-d": "DIR: up\nFILE: x",
	} {
		if r := p.Call("list_dir", args{"path": path}); r.Err != nil || r.Text != want {
			t.Errorf("%q: %q, %v; want %q", path, r.Text, r.Err, want)
		}
	}
}
