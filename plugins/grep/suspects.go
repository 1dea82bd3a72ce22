package main

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// suspects finds binary files while a program that does not tell of them searches: it looks into those whose names are
// not the names of text. To look into all would take as long as the search. What it finds is certain, and perhaps not
// all there is.
type suspects struct {
	w     *workspace.Workspace
	path  string
	query *query

	mu      sync.Mutex
	names   []string
	next    int // the one to look into
	looking bool
	ended   bool
	binary  int
	done    sync.WaitGroup
}

// mostSuspects is how many files are looked into, so that it never takes long.
const mostSuspects = 500

// add takes a name that the search comes by.
func (s *suspects) add(name string) {
	if s.query.text || !suspicious(name) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.names) == mostSuspects {
		return
	}
	s.names = append(s.names, name)
	if !s.looking {
		s.looking = true
		s.done.Go(s.look)
	}
}

// look looks into all that was added.
func (s *suspects) look() {
	for {
		s.mu.Lock()
		if s.next == len(s.names) {
			s.looking = false
			s.mu.Unlock()
			return
		}
		name := s.names[s.next]
		s.next++
		s.mu.Unlock()
		if head, err := readHead(s.w, join(s.path, name)); err == nil && isBinary(head) {
			s.mu.Lock()
			s.binary++
			s.mu.Unlock()
		}
	}
}

// stop waits for what is under way, and says how many binary files there are at least.
func (s *suspects) stop() int {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.done.Wait()
	return s.binary
}

// suspicious reports whether a name could be one of a binary file: it has no extension, or one that such files have.
func suspicious(name string) bool {
	switch extension := strings.ToLower(strings.TrimPrefix(filepath.Ext(name), ".")); extension {
	case "", "a", "avi", "bin", "bmp", "bz2", "class", "dat", "db", "dll", "dylib", "eot", "exe", "flac", "gif", "gz",
		"ico", "iso",
		"jar", "jpeg", "jpg", "mov", "mp3", "mp4", "o", "obj", "ogg", "otf", "pdf", "png", "pyc", "pyd", "rar", "rlib", "so",
		"sqlite",
		"sqlite3", "tar", "tgz", "tiff", "ttf", "wasm", "wav", "webm", "webp", "whl", "woff", "woff2", "xlsx", "docx", "pptx",
		"xz", "zip", "zst", "7z":
		return true
	}
	return false
}
