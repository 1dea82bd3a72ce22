package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// spoolLimit is how much output that nobody has read is kept of one command, in bytes.
const spoolLimit = 64 << 20

// spool keeps the output of a command in a file that has no name, in the order in which it came. Memory does not depend
// on how much there is. It may be used concurrently.
type spool struct {
	file *os.File

	mu      sync.Mutex
	changed *sync.Cond
	size    int64 // what came
	read    int64 // what was asked for and need not be kept
	lost    int64 // what came when there was no room and nobody would make any
	waits   bool  // there is somebody who reads: without room, the command waits
	ended   bool
}

// newSpool makes a spool where temporary files are.
func newSpool(waits bool) (*spool, error) {
	f, err := os.CreateTemp("", "output-*")
	if err != nil {
		return nil, fmt.Errorf("keep the command's output: %w", err)
	}
	_ = os.Remove(f.Name())
	s := &spool{file: f, waits: waits}
	s.changed = sync.NewCond(&s.mu)
	return s, nil
}

// add adds output. Without room it waits for a reader, if there is one.
func (s *spool) add(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.waits && !s.ended && s.size-s.read+int64(len(p)) > spoolLimit {
		s.changed.Wait()
	}
	if s.ended || s.size-s.read+int64(len(p)) > spoolLimit {
		s.lost += int64(len(p))
		return
	}
	n, err := s.file.WriteAt(p, s.size)
	s.size += int64(n)
	if err != nil {
		s.lost += int64(len(p) - n)
	}
	s.changed.Broadcast()
}

// end says that nothing more comes.
func (s *spool) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.changed.Broadcast()
}

// next returns output from a place on, 0 being where it is kept from, at most limit bytes, and where it goes on. What is
// before the place is not kept any longer. Without any it waits until there is some, the command has ended, or stop says so.
func (s *spool) next(from, limit int64, stop func() bool) (data []byte, next int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from == 0 {
		from = s.read // where the last reader was
	}
	if from < s.read || from > s.size {
		return nil, 0, fmt.Errorf("cursor %d is not in the output, which is kept from %d to %d", from, s.read, s.size)
	}
	if from > s.read {
		s.read = from
		discard(s.file, from)
		s.changed.Broadcast()
	}
	for s.size == from && !s.ended && !stop() {
		s.changed.Wait()
	}
	data = make([]byte, min(limit, s.size-from))
	if _, err := s.file.ReadAt(data, from); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	return data, from + int64(len(data)), nil
}

// wake has waiting readers look whether they are to stop.
func (s *spool) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
}

// state returns how much came and how much of it was lost.
func (s *spool) state() (size, lost int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size, s.lost
}

func (s *spool) close() {
	s.end()
	_ = s.file.Close()
}
