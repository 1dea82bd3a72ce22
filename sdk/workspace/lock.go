package workspace

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/internal/filelock"
)

// lockTimeout is the maximum wait for a directory lock. Changes take milliseconds, so a longer lock belongs to another
// program.
const lockTimeout = 10 * time.Second

// dirLocks serialise changes in a directory. Within this workspace they use a fair mutex. Between processes they lock
// the directory file; that lock ends with its process.
type dirLocks struct {
	mu   sync.Mutex
	held map[string]*dirLock
}

type dirLock struct {
	token chan struct{} // holds one token while unlocked
	users int
}

// lockDirs locks open directories and returns the unlock function. It sorts them to prevent deadlocks.
func (l *dirLocks) lockDirs(dirs []*os.File) (unlock func(), err error) {
	byID := map[string]*os.File{}
	for _, dir := range dirs {
		id, err := dirIdentity(dir)
		if err != nil {
			return nil, err
		}
		byID[id] = dir
	}
	ids := slices.Sorted(maps.Keys(byID))
	var undo []func()
	unlock = func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	deadline := time.Now().Add(lockTimeout)
	for _, id := range ids {
		one, err := l.lockDir(id, byID[id], deadline)
		if err != nil {
			unlock()
			return nil, err
		}
		undo = append(undo, one)
	}
	return unlock, nil
}

func (l *dirLocks) lockDir(id string, dir *os.File, deadline time.Time) (unlock func(), err error) {
	h := l.addLockUser(id)
	leave := func() { l.removeLockUser(id, h) }
	select {
	case <-h.token:
	default:
		patience := time.NewTimer(time.Until(deadline))
		defer patience.Stop()
		select {
		case <-h.token:
		case <-patience.C:
			leave()
			return nil, &Error{Code: Busy, Path: filepath.Clean(dir.Name())}
		}
	}
	// Poll, since a kernel wait can't be cancelled.
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 5*time.Millisecond) {
		err := tryFileLock(dir)
		if err == nil {
			break
		}
		if !errors.Is(err, filelock.ErrLocked) || time.Now().After(deadline) {
			h.token <- struct{}{}
			leave()
			if errors.Is(err, filelock.ErrLocked) {
				err = &Error{Code: Busy, Path: filepath.Clean(dir.Name())}
			}
			return nil, err
		}
		time.Sleep(wait)
	}
	return func() {
		releaseFileLock(dir)
		h.token <- struct{}{}
		leave()
	}, nil
}

func (l *dirLocks) addLockUser(id string) *dirLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[string]*dirLock)
	}
	h := l.held[id]
	if h == nil {
		h = &dirLock{token: make(chan struct{}, 1)}
		h.token <- struct{}{}
		l.held[id] = h
	}
	h.users++
	return h
}

func (l *dirLocks) removeLockUser(id string, h *dirLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users--; h.users == 0 {
		delete(l.held, id)
	}
}
