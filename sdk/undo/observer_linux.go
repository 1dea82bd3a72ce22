package undo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// dirWatcher reports changes in directories through inotify, whichever program makes them. Changes that no announced
// call explains are foreign.
type dirWatcher struct {
	fd      int // -1 before the first directory and after closeWatches
	ended   bool
	dirs    map[int32]*fileObject
	watched map[*fileObject]bool
	blind   string // reason that changes may have been missed; empty if none were
	buffer  [64 << 10]byte
}

// observed are the watched events. IN_MODIFY only separates two IN_CLOSE_WRITE events, because the kernel merges equal
// consecutive events.
const observed = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_CLOSE_WRITE |
	unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

// newDirWatcher returns a watcher. It opens inotify for the first directory.
func newDirWatcher() *dirWatcher {
	return &dirWatcher{fd: -1, dirs: map[int32]*fileObject{}, watched: map[*fileObject]bool{}}
}

// watchDir starts watching a directory.
func (o *dirWatcher) watchDir(dir *fileObject, f *os.File) {
	if o == nil || o.ended || o.watched[dir] || o.blind != "" {
		return
	}
	if o.fd < 0 {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		if err != nil {
			o.blind = "the kernel gives no more watches (fs.inotify.max_user_instances)"
			return
		}
		o.fd = fd
	}
	wd, err := unix.InotifyAddWatch(o.fd, procPath(f), observed)
	switch {
	case errors.Is(err, unix.ENOENT): // deleted meanwhile
		return
	case errors.Is(err, unix.ENOSPC):
		o.blind = "the kernel gives no more watches (fs.inotify.max_user_watches)"
		return
	case err != nil:
		o.blind = "a directory can't be watched: " + err.Error()
		return
	}
	o.dirs[int32(wd)], o.watched[dir] = dir, true
}

// dirEntryEvent is a change to a name in a watched directory.
type dirEntryEvent struct {
	dir      *fileObject
	name     string
	kind     eventKind
	movedDir bool // cached paths through it are invalid
}

func (o *dirWatcher) readEvents() []dirEntryEvent {
	if o == nil || o.fd < 0 {
		return nil
	}
	var all []dirEntryEvent
	for {
		n, err := unix.Read(o.fd, o.buffer[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return all
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			head := o.buffer[at:]
			wd := int32(binary.NativeEndian.Uint32(head))
			mask := binary.NativeEndian.Uint32(head[4:])
			length := int(binary.NativeEndian.Uint32(head[12:]))
			name, _, _ := bytes.Cut(head[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length], []byte{0})
			at += unix.SizeofInotifyEvent + length
			if mask&unix.IN_Q_OVERFLOW != 0 {
				o.blind = "too many changes at once for inotify (fs.inotify.max_queued_events)"
				continue
			}
			dir := o.dirs[wd]
			if mask&unix.IN_IGNORED != 0 {
				delete(o.dirs, wd)
				delete(o.watched, dir)
				continue
			}
			if dir == nil || mask&unix.IN_MODIFY != 0 || len(name) == 0 && mask&unix.IN_ATTRIB == 0 {
				continue
			}
			e := dirEntryEvent{dir: dir, name: string(name), movedDir: mask&unix.IN_ISDIR != 0 && mask&(unix.IN_MOVED_FROM|unix.IN_MOVED_TO|unix.IN_DELETE) != 0}
			switch {
			case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
				e.kind = appeared
			case mask&(unix.IN_DELETE|unix.IN_MOVED_FROM) != 0:
				e.kind = disappeared
			case mask&unix.IN_CLOSE_WRITE != 0:
				e.kind = written
			case mask&unix.IN_ATTRIB != 0:
				e.kind = attributed
			}
			all = append(all, e)
		}
	}
}

// closeWatches closes inotify in the background, because the kernel takes a while.
func (o *dirWatcher) closeWatches() {
	if o == nil {
		return
	}
	if o.ended = true; o.fd >= 0 {
		go func(fd int) { _ = unix.Close(fd) }(o.fd)
		o.fd = -1
	}
}
