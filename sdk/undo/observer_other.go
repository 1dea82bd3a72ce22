//go:build !linux

package undo

import "os"

// dirWatcher observes nothing: commands are recorded on Linux alone.
type dirWatcher struct{ blind string }

type dirEntryEvent struct {
	dir      *fileObject
	name     string
	kind     eventKind
	movedDir bool // cached paths through it are invalid
}

func newDirWatcher() *dirWatcher { return nil }

func (o *dirWatcher) watchDir(*fileObject, *os.File) {}

func (o *dirWatcher) readEvents() []dirEntryEvent { return nil }

func (o *dirWatcher) closeWatches() {}
