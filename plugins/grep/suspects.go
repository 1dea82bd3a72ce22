package main

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// binaryFileCounter counts binary files during a search, by reading files with suspicious names. The count is a
// minimum.
type binaryFileCounter struct {
	w     *workspace.Workspace
	path  string
	query *grepQuery

	mu      sync.Mutex
	names   []string
	next    int // the one to look into
	looking bool
	ended   bool
	binary  int
	done    sync.WaitGroup
}

// maxScannedFiles limits the number of files that a binaryFileCounter reads.
const maxScannedFiles = 500

// queueMaybeBinary queues a file that may be binary.
func (s *binaryFileCounter) queueMaybeBinary(name string) {
	if s.query.text || !mayBeBinaryByName(name) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.names) == maxScannedFiles {
		return
	}
	s.names = append(s.names, name)
	if !s.looking {
		s.looking = true
		s.done.Go(s.scanFiles)
	}
}

// scanFiles reads the queued files and counts the binary ones.
func (s *binaryFileCounter) scanFiles() {
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
		if head, err := readFileHead(s.w, joinPath(s.path, name)); err == nil && containsNUL(head) {
			s.mu.Lock()
			s.binary++
			s.mu.Unlock()
		}
	}
}

// finishCount waits for running reads, and returns the number of binary files.
func (s *binaryFileCounter) finishCount() int {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.done.Wait()
	return s.binary
}

// mayBeBinaryByName reports whether a name has no extension, or the extension of a binary file type.
func mayBeBinaryByName(name string) bool {
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
