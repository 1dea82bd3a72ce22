package audit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/internal/statefiles"
)

// writeRecords writes records to the log of a home, which lists it.
func writeRecords(t *testing.T, home string, n int, o audit.LogOptions) {
	t.Helper()
	log, err := audit.OpenLog(audit.LogPath(home), o)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := log.Write(audit.Record{Time: time.Now(), Tool: "t", Agent: "main"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(log.Close(), statefiles.AddToList(home, audit.LogPath(home))); err != nil {
		t.Fatal(err)
	}
}

func TestLostCurrentFileIsAnError(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(path string) error{
		"missing": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
	} {
		for _, maxSize := range []int64{0, 300} {
			home := t.TempDir()
			writeRecords(t, home, 5, audit.LogOptions{MaxSize: maxSize})
			if err := lose(audit.LogPath(home)); err != nil {
				t.Fatal(err)
			}
			_, openErr := audit.OpenLog(audit.LogPath(home), audit.LogOptions{})
			_, verifyErr := audit.VerifyLog(audit.LogPath(home), "")
			for what, err := range map[string]error{"open": openErr, "verify": verifyErr} {
				if err == nil || !strings.Contains(err.Error(), audit.LogPath(home)) || !strings.Contains(err.Error(), "restore a copy") {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
		}
	}
}

// A process that is killed between the two renames of a rotation leaves the next file.
func TestInterruptedRotationIsCompleted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	writeRecords(t, home, 5, audit.LogOptions{MaxSize: 300})
	path := audit.LogPath(home)
	if err := os.Rename(path, path+".next"); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.VerifyLog(path, ""); err != nil {
		t.Error(err)
	}
	writeRecords(t, home, 1, audit.LogOptions{MaxSize: 300})
	if found, err := audit.VerifyLog(path, ""); err != nil || found.Records != 6 || !found.Whole {
		t.Errorf("%+v, %v", found, err)
	}
	if left, _ := filepath.Glob(path + ".next"); left != nil {
		t.Error(left)
	}
}
