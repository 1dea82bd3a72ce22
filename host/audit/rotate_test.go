package audit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// writerVariable has this test binary be a process that writes to a log: its path, size limit and number of records.
const writerVariable = "TEST_AUDIT_WRITER"

func TestMain(m *testing.M) {
	if job := os.Getenv(writerVariable); job != "" {
		if err := beWriter(strings.Split(job, ",")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beWriter(job []string) error {
	size, err := strconv.ParseInt(job[1], 10, 64)
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(job[2])
	if err != nil {
		return err
	}
	log, err := OpenLog(job[0], LogOptions{MaxSize: size})
	if err != nil {
		return err
	}
	for i := range count {
		if err := log.Write(record(fmt.Sprintf("%s.%d", job[3], i))); err != nil {
			return err
		}
	}
	return log.Close()
}

func startWriter(t *testing.T, path string, size, count, id int) func() error {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s,%d,%d,w%d", writerVariable, path, size, count, id))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd.Wait
}

func TestConcurrentRotationLosesNothing(t *testing.T) {
	const writers, count, size = 4, 300, 4000
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var waits []func() error
	for id := range writers {
		waits = append(waits, startWriter(t, path, size, count, id))
	}
	for _, wait := range waits {
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	}
	next := map[string]int{}
	for _, r := range read(t, path) {
		writer, n, _ := strings.Cut(r.Tool, ".")
		if n != strconv.Itoa(next[writer]) {
			t.Fatalf("%s wrote %s where its record %d was due", writer, n, next[writer])
		}
		next[writer]++
	}
	for id := range writers {
		if got := next[fmt.Sprintf("w%d", id)]; got != count {
			t.Errorf("writer %d: %d of %d records are there", id, got, count)
		}
	}
	files, err := rotatedFilePaths(path)
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files were put aside (%v)", len(files), err)
	}
	for _, file := range append(files, path) {
		if info, err := os.Stat(file); err != nil || info.Size() > size || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
}

func TestConcurrentLogsInProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var running sync.WaitGroup
	for range 3 {
		log := open(t, path, LogOptions{MaxSize: 2000})
		for range 2 {
			running.Go(func() {
				for range 100 {
					if err := log.EnsureWritable(); err != nil {
						t.Error(err)
					}
					if err := log.Write(record("x")); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	running.Wait()
	if got := len(read(t, path)); got != 600 {
		t.Errorf("%d of 600 records are there", got)
	}
}

func TestOldFilesAreRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	other := filepath.Join(filepath.Dir(path), "audit-notes.jsonl")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log := open(t, path, LogOptions{MaxSize: 300, MaxFiles: 3})
	for i := range 50 {
		if err := log.Write(record(fmt.Sprint("t.", i))); err != nil {
			t.Fatal(err)
		}
	}
	files, err := rotatedFilePaths(path)
	if err != nil || len(files) != 3 {
		t.Errorf("%d files are kept (%v)", len(files), err)
	}
	if all := read(t, path); all[len(all)-1].Tool != "t.49" {
		t.Errorf("the last record is %s", all[len(all)-1].Tool)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

func TestIncompleteLineIsFinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const old = `{"time":"2026-01-01T00:00:00Z","tool":"old","decision":"allow"}` + "\n"
	if err := os.WriteFile(path, []byte(old+`{"time":"2026-`), 0o600); err != nil {
		t.Fatal(err)
	}
	log := open(t, path, LogOptions{})
	if err := log.Write(record("x")); err != nil {
		t.Fatal(err)
	}
	var tools []string
	broken, err := ReadLog(path, func(r Record) error { tools = append(tools, r.Tool); return nil })
	if err != nil || broken != 1 || len(tools) != 2 {
		t.Errorf("%d broken, %v (%v)", broken, tools, err)
	}
}

func TestRemovedFileIsRecreated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := open(t, path, LogOptions{})
	for range 2 {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := log.Write(record("x")); err != nil {
			t.Fatal(err)
		}
		if got := len(read(t, path)); got != 1 {
			t.Errorf("%d records", got)
		}
	}
}

func TestDamagedRotatedFileHasRemedy(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := LogPath(home)
	log := open(t, path, LogOptions{})
	rotated := rotatedFilePath(path, time.Now())
	if err := os.Mkdir(rotated, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := log.Write(record("x")); err != nil {
		t.Errorf("a write after a damaged file: %v", err)
	}
	if err := verifyError(path); err == nil || !strings.Contains(err.Error(), rotated) || strings.Contains(err.Error(), "files.json") {
		t.Errorf("%v; want an error about %s alone", err, rotated)
	}
}

func TestFailedRotationIsOneError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := open(t, path, LogOptions{MaxSize: 300})
	if err := os.MkdirAll(filepath.Join(path+nextSuffix, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := 0; i < 10 && err == nil; i++ {
		err = log.Write(record("x"))
	}
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v; want one error", err)
	}
	if err := os.RemoveAll(path + nextSuffix); err != nil {
		t.Fatal(err)
	}
}
