package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/filelock"
)

// prefix is how the directory begins that a process makes for its groups.
const prefix = "picoclaw-"

// base is the directory of this process in a hierarchy. It is locked while the process lives.
type base struct {
	dir  string
	lock *os.File
}

// errTaken is for a directory that somebody removed before it was locked.
var errTaken = errors.New("it was removed at once")

// newBase makes a directory in the group at own, and removes there what others left that no longer live.
func newBase(own string) (*base, error) {
	sweep(own)
	err := errTaken
	for try := 0; try < 8 && errors.Is(err, errTaken); try++ {
		var b *base
		if b, err = makeBase(own); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("make a control group in %s: %w", own, err)
}

func makeBase(own string) (*base, error) {
	dir, err := os.MkdirTemp(own, prefix)
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		_ = unix.Rmdir(dir)
		return nil, errTaken
	}
	// Somebody who sweeps may have had it first.
	var held, there unix.Stat_t
	if unix.Fstat(int(lock.Fd()), &held) != nil || unix.Stat(dir, &there) != nil || held.Ino != there.Ino {
		_ = lock.Close()
		return nil, errTaken
	}
	return &base{dir: dir, lock: lock}, nil
}

// lockDir locks a directory for as long as it is open.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := filelock.Lock(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// sweep ends and removes what is in the directories of processes that no longer live.
func sweep(own string) {
	for _, entry := range entries(own) {
		if !strings.HasPrefix(entry, prefix) {
			continue
		}
		dir := filepath.Join(own, entry)
		if lock, err := lockDir(dir); err == nil { // else its process lives
			removeTree(dir)
			_ = lock.Close()
		}
	}
}

// removeTree ends what runs in a directory's groups, and removes them and the directory.
func removeTree(dir string) {
	for _, entry := range entries(dir) {
		remove(filepath.Join(dir, entry))
	}
	remove(dir)
}

// within reports whether this process is in a group of a base's.
func within(base string) bool {
	member, err := os.ReadFile("/proc/self/cgroup")
	return err == nil && strings.Contains(string(member), "/"+filepath.Base(base)+"/")
}

// entries are the groups in a group.
func entries(dir string) []string {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range list {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// goneWithin bounds how long the end of what runs in a group is waited for. Only what the kernel can't end takes
// longer.
const goneWithin = time.Second

// remove ends what runs in a group and removes the group.
func remove(dir string) {
	pause := 50 * time.Microsecond
	for deadline := time.Now().Add(goneWithin); ; pause = min(2*pause, 10*time.Millisecond) {
		if err := unix.Rmdir(dir); !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return
		}
		killAll(dir)
		time.Sleep(pause)
	}
}

// killAll ends everybody in a group, and below it where the kernel does that itself. Where it does not, what forks fast
// enough gets away.
func killAll(dir string) {
	if write(filepath.Join(dir, "cgroup.kill"), "1") == nil {
		return
	}
	for _, pid := range processes(dir) {
		if pid > 0 && pid != os.Getpid() { // 0 is somebody in a namespace that this process does not see
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
