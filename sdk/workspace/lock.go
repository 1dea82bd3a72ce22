package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/internal/filelock"
)

// lockPatience is how long a change waits for its turn. Changes take milliseconds; who holds a directory for longer is
// another program that locked it for reasons of its own.
const lockPatience = 10 * time.Second

// locks makes changes in one directory take turns: those of this workspace by a mutex, which is fair, and those of
// other processes by a lock on the directory itself, which ends with its holder, however that ends.
type locks struct {
	mu   sync.Mutex
	held map[string]*held
}

type held struct {
	turn  chan struct{} // has one token while nobody holds it
	users int
}

// lock waits for its turn with some directories, given by open handles, and returns the function that ends it. It
// takes them in one order for everybody, so that two changes never wait for each other.
func (l *locks) lock(dirs []*os.File) (unlock func(), err error) {
	byID := map[string]*os.File{}
	for _, dir := range dirs {
		id, err := identity(dir)
		if err != nil {
			return nil, err
		}
		byID[id] = dir
	}
	ids := make([]string, 0, len(byID))
	for id := range byID {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, strings.Compare)
	var undo []func()
	unlock = func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	deadline := time.Now().Add(lockPatience)
	for _, id := range ids {
		one, err := l.lockOne(id, byID[id], deadline)
		if err != nil {
			unlock()
			return nil, err
		}
		undo = append(undo, one)
	}
	return unlock, nil
}

func (l *locks) lockOne(id string, dir *os.File, deadline time.Time) (unlock func(), err error) {
	h := l.enter(id)
	leave := func() { l.leave(id, h) }
	select {
	case <-h.turn:
	default:
		patience := time.NewTimer(time.Until(deadline))
		defer patience.Stop()
		select {
		case <-h.turn:
		case <-patience.C:
			leave()
			return nil, &Error{Code: Busy, Path: filepath.Clean(dir.Name())}
		}
	}
	// Polling, because a wait in the kernel could not be ended.
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 5*time.Millisecond) {
		err := tryLock(dir)
		if err == nil {
			break
		}
		if !errors.Is(err, filelock.ErrLocked) || time.Now().After(deadline) {
			h.turn <- struct{}{}
			leave()
			if errors.Is(err, filelock.ErrLocked) {
				err = &Error{Code: Busy, Path: filepath.Clean(dir.Name())}
			}
			return nil, err
		}
		time.Sleep(wait)
	}
	return func() {
		releaseLock(dir)
		h.turn <- struct{}{}
		leave()
	}, nil
}

func (l *locks) enter(id string) *held {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[string]*held)
	}
	h := l.held[id]
	if h == nil {
		h = &held{turn: make(chan struct{}, 1)}
		h.turn <- struct{}{}
		l.held[id] = h
	}
	h.users++
	return h
}

func (l *locks) leave(id string, h *held) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users--; h.users == 0 {
		delete(l.held, id)
	}
}
