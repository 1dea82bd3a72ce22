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

// dirPrefix is the prefix of the directory that each process creates for its groups.
const dirPrefix = "picoclaw-"

// baseDir is the locked directory in a hierarchy that holds this process's groups.
type baseDir struct {
	path string
	lock *os.File
}

// errDirRemoved reports that another process removed the directory before it was locked.
var errDirRemoved = errors.New("it was removed at once")

// createBaseDir removes dead processes' base directories in a parent group, then creates this process's.
func createBaseDir(parent string) (*baseDir, error) {
	removeStaleBaseDirs(parent)
	err := errDirRemoved
	for try := 0; try < 8 && errors.Is(err, errDirRemoved); try++ {
		var b *baseDir
		if b, err = tryCreateBaseDir(parent); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("make a control group in %s: %w", parent, err)
}

// tryCreateBaseDir creates and locks a base directory. It returns errDirRemoved if another process removed it first.
func tryCreateBaseDir(parent string) (*baseDir, error) {
	dir, err := os.MkdirTemp(parent, dirPrefix)
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		_ = unix.Rmdir(dir)
		return nil, errDirRemoved
	}
	// Another process may have removed the directory before the lock.
	var lockedStat, pathStat unix.Stat_t
	if unix.Fstat(int(lock.Fd()), &lockedStat) != nil || unix.Stat(dir, &pathStat) != nil || lockedStat.Ino != pathStat.Ino {
		_ = lock.Close()
		return nil, errDirRemoved
	}
	return &baseDir{path: dir, lock: lock}, nil
}

// lockDir opens and locks a directory. The lock lasts until the file is closed.
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

// removeStaleBaseDirs removes the base directories of ended processes in a parent group, and kills the processes in them.
func removeStaleBaseDirs(parent string) {
	for _, entry := range listGroups(parent) {
		if !strings.HasPrefix(entry, dirPrefix) {
			continue
		}
		dir := filepath.Join(parent, entry)
		if lock, err := lockDir(dir); err == nil { // a failed lock means that the process lives
			killAndRemoveTree(dir)
			_ = lock.Close()
		}
	}
}

// killAndRemoveTree kills the processes in a directory's groups, and removes the groups and the directory.
func killAndRemoveTree(dir string) {
	for _, entry := range listGroups(dir) {
		killAndRemoveGroup(filepath.Join(dir, entry))
	}
	killAndRemoveGroup(dir)
}

// isInsideBase reports whether this process is in a group below base.
func isInsideBase(base string) bool {
	member, err := os.ReadFile("/proc/self/cgroup")
	return err == nil && strings.Contains(string(member), "/"+filepath.Base(base)+"/")
}

// listGroups returns the names of the groups directly in a group.
func listGroups(dir string) []string {
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

// removeTimeout limits the wait for killed processes to end. Only processes that the kernel can't kill take longer.
const removeTimeout = time.Second

// killAndRemoveGroup kills the processes in a group and removes the group.
func killAndRemoveGroup(dir string) {
	pause := 50 * time.Microsecond
	for deadline := time.Now().Add(removeTimeout); ; pause = min(2*pause, 10*time.Millisecond) {
		if err := unix.Rmdir(dir); !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return
		}
		killProcesses(dir)
		time.Sleep(pause)
	}
}

// killProcesses kills all processes in a group, and in its subgroups if the kernel has cgroup.kill. Without it, a
// process that forks fast enough can escape.
func killProcesses(dir string) {
	if writeControlFile(filepath.Join(dir, "cgroup.kill"), "1") == nil {
		return
	}
	for _, pid := range listProcesses(dir) {
		if pid > 0 && pid != os.Getpid() { // 0 is a process in a PID namespace that this process can't see
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
