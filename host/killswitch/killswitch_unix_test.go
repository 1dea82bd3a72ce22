//go:build unix

package killswitch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/internal/filelock"
)

// usedHome returns a home after its first start.
func usedHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	if err := CreateStopFile(home); err != nil {
		t.Fatal(err)
	}
	log, err := audit.OpenLog(audit.LogPath(home), audit.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return home
}

// Root stops what another user runs: that user has to see it, and to be able to start it again.
func TestStopBelongsToOwnerOfHome(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	owner := os.Getuid()
	if owner == 0 {
		owner = 1000
		if err := os.Chown(home, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := StopAgent(home, Stop{Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{stoppedFilePath(home), reserveFilePath(home)} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; int(uid) != owner {
			t.Errorf("%s belongs to %d; want %d", path, uid, owner)
		}
	}
}

func TestBrokenStateStopsAllUntilStart(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(stoppedFilePath(usedHome(t)))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"empty": {}, "zeroed": make([]byte, len(whole)), "cut": whole[:len(whole)/2], "null": []byte("null"),
		"object": []byte("{}"), "list": []byte("[]"), "text": []byte("stopped: []"), "null stop": []byte(`{"stopped":[null]}`),
		"missing": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := usedHome(t)
			if stop := ReadStopOfAgent(home, "main"); stop != nil {
				t.Fatalf("stopped after the first start: %v", stop)
			}
			if err := os.Remove(stoppedFilePath(home)); err != nil {
				t.Fatal(err)
			}
			if text != nil {
				if err := os.WriteFile(stoppedFilePath(home), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := CreateStopFile(home); err != nil {
				t.Fatal(err)
			}
			stop := ReadStopOfAgent(home, "main")
			if stop == nil || !strings.Contains(stop.String(), stoppedFilePath(home)) || !strings.Contains(stop.String(), "picoclaw start") {
				t.Fatalf("stop %v; want one that names the file and the remedy", stop)
			}
			if was, err := ResumeAgent(home, ""); !was || err != nil {
				t.Fatal(was, err)
			}
			if stop := ReadStopOfAgent(home, "main"); stop != nil {
				t.Errorf("stopped after start: %v", stop)
			}
		})
	}
}

func TestStopReplacesLostState(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"", "main"} {
		home := usedHome(t)
		if err := os.WriteFile(stoppedFilePath(home), []byte(`{"stopped":7}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := StopAgent(home, Stop{Agent: agent, Time: time.Now(), By: "me", Why: "it loops"}); err != nil {
			t.Fatal(err)
		}
		stops := ReadStops(home)
		if stops[agent].Why != "it loops" || stops[agent].By != "me" {
			t.Errorf("stop of %q: %v", agent, stops[agent])
		}
		if other := stops.StopOfAgent("other"); other == nil || strings.Contains(other.String(), "can't be read") || other.By != "me" {
			t.Errorf("after a stop of %q another agent has %v", agent, other)
		}
	}
}

func TestStopDoesNotNeedReserve(t *testing.T) {
	t.Parallel()
	home := usedHome(t)
	if err := errors.Join(os.Remove(reserveFilePath(home)), os.Mkdir(reserveFilePath(home), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := StopAgent(home, Stop{Agent: "main"}); err != nil || ReadStopOfAgent(home, "main") == nil {
		t.Errorf("%v, stop %v", err, ReadStopOfAgent(home, "main"))
	}
}

func TestStopDoesNotWaitForHeldLock(t *testing.T) {
	t.Parallel()
	home := usedHome(t)
	lock, err := filelock.OpenLocked(reserveFilePath(home), filelock.Lock)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := StopAgent(home, Stop{Agent: "main"}); err != nil || ReadStopOfAgent(home, "main") == nil {
		t.Errorf("put %v, stop %v", err, ReadStopOfAgent(home, "main"))
	}
}

func TestUnreadableStateStopsAll(t *testing.T) {
	t.Parallel()
	home := usedHome(t)
	file := filepath.Join(home, fileName)
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil { // root can't read a directory as a file either
		t.Fatal(err)
	}
	if ReadStopOfAgent(home, "main") == nil {
		t.Error("no stop")
	}
}

func TestHeldStopEndsWithRelease(t *testing.T) {
	t.Parallel()
	home := usedHome(t)
	StopInProcess(home, Stop{Agent: "main", Why: "no disk"})
	if ReadStopOfAgent(home, "main") == nil || ReadStopOfAgent(home, "other") != nil {
		t.Errorf("main %v, other %v", ReadStopOfAgent(home, "main"), ReadStopOfAgent(home, "other"))
	}
	if !ResumeInProcess(home, "main") || ReadStopOfAgent(home, "main") != nil || ResumeInProcess(home, "main") {
		t.Error("the stop does not end with its release")
	}
}

func TestFilesOfKilledHostsAreRemoved(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	running, err := RegisterHost(home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Close() })
	killed := filepath.Join(home, "run", "host-1-killed")
	if err := os.WriteFile(killed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hour := time.Now().Add(-time.Hour)
	entries, err := filepath.Glob(filepath.Join(home, "run", "host-*"))
	for _, path := range entries {
		err = errors.Join(err, os.Chtimes(path, hour, hour))
	}
	next, openErr := RegisterHost(home)
	if err = errors.Join(err, openErr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = next.Close() })
	left, _ := filepath.Glob(filepath.Join(home, "run", "host-*"))
	if slices.Contains(left, killed) || len(left) != 2 {
		t.Errorf("files of hosts: %v", left)
	}
}
