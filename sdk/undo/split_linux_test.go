package undo_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// undoAll undoes operations, the last one first. It returns conflicts and errors.
func (w *world) undoAll(ids []string) (faults []string) {
	for _, id := range slices.Backward(ids) {
		if id == "" {
			continue
		}
		done, err := w.store.Undo(w.t.Context(), w.files, undo.UndoRequest{ID: id})
		if err != nil || len(done.Conflicts) > 0 {
			faults = append(faults, fmt.Sprintf("undo of %s: %v, conflicts %v", id, err, done.Conflicts))
		}
	}
	return faults
}

// splitSequence makes random changes, with splits between them, and undoes all operations.
func splitSequence(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	for range 12 {
		w.change(false)
	}
	w.log, w.oneName = nil, true
	before := w.snapshot()
	w.before = before
	w.recorder = w.store.NewRecorder(w.files, undo.RecordOptions{Tool: "run", Summary: "test", Observe: true})
	var ids, lost []string
	split := func() {
		w.recorder.Tick()
		ended, next := w.recorder.Split()
		ids, lost, w.recorder = append(ids, ended.ID), append(lost, ended.Lost...), next
		w.log = append(w.log, "split: "+ended.ID)
	}
	for range 2 + w.random.IntN(30) {
		if w.change(true); w.random.IntN(4) == 0 {
			split()
		}
	}
	for _, f := range w.open {
		_, _ = f.WriteString("end")
		_ = f.Close()
	}
	split()
	w.recorder.Discard()
	faults := w.undoAll(ids)
	if now := w.snapshot(); len(faults)+len(lost) > 0 || !maps.Equal(withoutDirTimes(now), withoutDirTimes(before)) {
		t.Errorf("seed %d: %v, lost %v\n%s\n%s", seed, faults, lost, difference(before, now), strings.Join(w.log, "\n"))
	}
}

// Undo of all operations of a program restores everything, whichever changes a split separates.
func TestUndoRestoresSplitOperations(t *testing.T) {
	t.Parallel()
	begin, count := uint64(1), uint64(180)
	if text := os.Getenv("PICOCLAW_TEST_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		begin, count = seed, 1
	}
	for seed := range count {
		if splitSequence(t, begin+seed); t.Failed() {
			return
		}
	}
}

// busyProgram changes files in several threads. Each call is announced and made under a lock, as isolation does it.
type busyProgram struct {
	*world

	mu       sync.Mutex
	announce chan struct{} // requests for a split right after a call
}

func (p *busyProgram) change(thread int, kind mutation.Kind, path, to string, splits bool, call func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notice(thread, kind, path, to)
	if splits {
		select {
		case p.announce <- struct{}{}:
		default:
		}
	}
	return call()
}

// write writes a file, which is open after the call.
func (p *busyProgram) write(thread int, path string, flags int, text string, splits bool) error {
	var file *os.File
	err := p.change(thread, mutation.Write, path, "", splits, func() (err error) {
		file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flags, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func (p *busyProgram) rename(thread int, from, to string, splits bool) error {
	return p.change(thread, mutation.Rename, from, to, splits, func() error { return os.Rename(from, to) })
}

// work makes changes that succeed, in a directory of the thread.
func (p *busyProgram) work(thread int, random *rand.Rand) error {
	dir := filepath.Join(p.dir, strconv.Itoa(thread))
	file, temp, sub := filepath.Join(dir, "file"), filepath.Join(dir, "temp"), filepath.Join(dir, "sub")
	var log *os.File
	err := p.change(thread, mutation.Write, filepath.Join(dir, "log"), "", false, func() (err error) {
		log, err = os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_APPEND, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	for i := range 60 {
		now := random.IntN(6) == 0
		if _, err := fmt.Fprintln(log, i); err != nil {
			return err
		}
		switch random.IntN(4) {
		case 0: // replace a file
			if err = p.write(thread, temp, os.O_TRUNC, strconv.Itoa(i), now); err == nil {
				err = p.rename(thread, temp, file, now)
			}
		case 1: // overwrite it
			err = p.write(thread, file, os.O_TRUNC, "again "+strconv.Itoa(i), now)
		case 2: // rename a directory with files, and back
			if err = p.rename(thread, sub, sub+"2", now); err == nil {
				err = p.rename(thread, sub+"2", sub, now)
			}
		default: // create and delete
			x := filepath.Join(sub, "x")
			if err = p.write(thread, x, 0, strconv.Itoa(i), now); err == nil && random.IntN(2) == 0 {
				err = p.change(thread, mutation.Remove, x, "", now, func() error { return os.Remove(x) })
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A split loses no call that was announced before it and happens during or after it, and no write to an open file.
func TestSplitWhileProgramWorks(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		p := &busyProgram{world: newWorld(t, seed), announce: make(chan struct{}, 1)}
		const threads = 3
		for thread := range threads {
			dir := filepath.Join(p.dir, strconv.Itoa(thread))
			must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700), write(filepath.Join(dir, "log"), 0, "log\n"),
				write(filepath.Join(dir, "file"), 0, "before"), write(filepath.Join(dir, "sub", "y"), 0, "y"))
		}
		before := p.snapshot()
		p.recorder = p.store.NewRecorder(p.files, undo.RecordOptions{Tool: "run", Summary: "test", Observe: true})
		var ids []string
		split := func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			ended, next := p.recorder.Split()
			ids, p.recorder = append(ids, ended.ID), next
			if len(ended.Lost) > 0 {
				t.Errorf("seed %d: lost %v", seed, ended.Lost)
			}
		}
		var working sync.WaitGroup
		for thread := range threads {
			working.Go(func() {
				if err := p.work(thread, rand.New(rand.NewPCG(seed, uint64(thread)))); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			})
		}
		splitting := make(chan struct{})
		go func() {
			for range p.announce {
				split()
			}
			close(splitting)
		}()
		working.Wait()
		close(p.announce)
		<-splitting
		split()
		p.recorder.Discard()
		faults := p.undoAll(ids)
		if now := p.snapshot(); len(faults) > 0 || !maps.Equal(withoutDirTimes(now), withoutDirTimes(before)) {
			t.Errorf("seed %d, %d operations: %s\n%s", seed, len(ids), strings.Join(faults, "\n"), difference(before, now))
		}
	}
}

// A file that a program closes during a split was not changed by others.
func TestFileClosedDuringSplit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	path := filepath.Join(w.dir, "file")
	must(t, write(path, 0, "before"))
	for range 300 {
		w.recorder = w.store.NewRecorder(w.files, undo.RecordOptions{Tool: "run", Summary: "test", Observe: true})
		w.notice(1, mutation.Write, path, "")
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		closed := make(chan error)
		go func() {
			_, err := file.WriteString("end")
			closed <- errors.Join(err, file.Close())
		}()
		first, next := w.recorder.Split()
		must(t, <-closed)
		faults := w.undoAll([]string{first.ID, next.End().ID})
		if text, err := os.ReadFile(path); len(faults) > 0 || err != nil || string(text) != "before" {
			t.Fatalf("%v, %q %v", faults, text, err)
		}
	}
}
