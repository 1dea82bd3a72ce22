package workspace

import "sync"

// locks holds one lock for each file that is being changed.
type locks struct {
	mu   sync.Mutex
	held map[string]*held
}

type held struct {
	mu    sync.Mutex
	users int
}

// lock waits for its turn with a file and returns the function that ends it.
func (l *locks) lock(path string) (unlock func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = make(map[string]*held)
	}
	h := l.held[path]
	if h == nil {
		h = &held{}
		l.held[path] = h
	}
	h.users++
	l.mu.Unlock()

	h.mu.Lock()
	return func() {
		h.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(l.held, path)
		}
	}
}
