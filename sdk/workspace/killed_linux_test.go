package workspace

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// kills is how often a writing process is killed.
const kills = 1000

const (
	writerVariable = "PICOCLAW_TEST_WRITER" // makes this program a process that writes until it is killed
	stateVariable  = "PICOCLAW_TEST_STATE"
)

// writeForever replaces a file by longer and shorter ones, each of one letter only.
func writeForever(dir, state string) error {
	w, err := OpenWorkspace(guard.Policy{Workspace: dir, Restrict: true}, Options{StateDir: state})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for i := 0; ; i++ {
		data := bytes.Repeat([]byte{'a' + byte(i%26)}, 1+i%5*20_000)
		if err := w.WriteFile("sub/file", data); err != nil {
			return err
		}
	}
}

// A process that is killed at any instant leaves the old file or the new one, and what it leaves besides is removed by
// the next process.
func TestKilledWriterLeavesOldOrNewFile(t *testing.T) {
	g := newGround(t)
	state := t.TempDir()
	littered := 0
	for i := range kills {
		killWriter(t, g.w, state, instant(), nil)
		data, err := os.ReadFile(filepath.Join(g.w, "sub", "file"))
		if os.IsNotExist(err) {
			continue // killed before the first
		}
		if err != nil || len(data) == 0 || len(bytes.Trim(data, string(data[:1]))) > 0 {
			t.Fatalf("after kill %d the file is neither old nor new: %d bytes, %v", i, len(data), err)
		}
		if len(litter(t, g.w)) > 0 {
			littered++
		}
	}
	if littered == 0 {
		t.Error("no kill came while there was a temporary file, so nothing was shown")
	}
	t.Logf("%d of %d kills left a temporary file for the next process to remove", littered, kills)
	w, err := OpenWorkspace(guard.Policy{Workspace: g.w, Restrict: true}, Options{StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if left := litter(t, g.w); len(left) > 0 {
		t.Errorf("the next process leaves %v", left)
	}
	if records, _ := os.ReadDir(state); len(records) > 0 {
		t.Errorf("there are records left: %v", records)
	}
}

// instant is when a writer is killed.
func instant() time.Duration { return time.Duration(rand.IntN(1500)) * time.Microsecond }

func killWriter(t *testing.T, dir, state string, after time.Duration, how *syscall.SysProcAttr) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.SysProcAttr = how
	cmd.Env = append(os.Environ(), writerVariable+"="+dir, stateVariable+"="+state)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		_ = cmd.Wait()
		t.Fatalf("the writer did not start: %v\n%s", err, stderr.String())
	}
	time.Sleep(after) // the instant of the kill is the point, and it is random
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if stderr.Len() > 0 {
		t.Fatalf("the writer failed: %s", stderr.String())
	}
}

func litter(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), ".tmp-") {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A record names files in the workspace and nothing else, whatever is written into it.
func TestRecordRemovesOnlyTemporaryFiles(t *testing.T) {
	g := newGround(t)
	state := t.TempDir()
	outside := filepath.Join(filepath.Dir(g.o), ".tmp-1-1")
	g.put(outside, "somebody's")
	g.put(filepath.Join(g.w, "precious"), "mine")
	g.put(filepath.Join(g.w, ".tmp-1-2"), "litter")
	record := make([]byte, 3*pendingSlotSize)
	for i, path := range []string{outside, filepath.Join(g.w, "precious"), filepath.Join(g.w, ".tmp-1-2")} {
		copy(record[i*pendingSlotSize:], path)
	}
	g.put(filepath.Join(state, pendingPrefix+"old"), string(record))
	w, err := OpenWorkspace(guard.Policy{Workspace: g.w, Restrict: true}, Options{StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if g.contents(outside) != "somebody's" || g.contents(filepath.Join(g.w, "precious")) != "mine" {
		t.Error("a record has removed what is no litter of the workspace")
	}
	if left := litter(t, g.w); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Two processes, and several callers in each, change one file: every change survives.
func TestUpdatesOfSeveralProcessesAllSurvive(t *testing.T) {
	g := newGround(t)
	const processes, each = 4, 50
	g.put(filepath.Join(g.w, "log"), "")
	done := make(chan error, processes)
	for range processes {
		w, err := OpenWorkspace(guard.Policy{Workspace: g.w, Restrict: true}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.Close() }()
		// A workspace of its own has locks of its own: to the others it is another process.
		go func() {
			for range each {
				if err := w.UpdateFile("log", func(old []byte, _ bool) ([]byte, error) {
					return append(old, "x\n"...),
						nil
				}); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range processes {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := strings.Count(g.contents(filepath.Join(g.w, "log")), "x\n"); got != processes*each {
		t.Errorf("%d of %d updates survived", got, processes*each)
	}
}

// TestMain runs the tests, or is one of the processes that tests need beside their own.
func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(writerVariable) != "":
		err = writeForever(os.Getenv(writerVariable), os.Getenv(stateVariable))
	case os.Getenv(fullVariable) != "":
		err = fillDisk(os.Getenv(fullVariable))
	case os.Getenv(ownerVariable) != "":
		err = changeOthers(os.Getenv(ownerVariable), os.Getenv(stateVariable))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
