package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// leafGroup is the name of the group in the base directory that this process moves to. In v2, a group that enables
// controllers for its children can't have processes itself.
const leafGroup = "host"

// maxMoveTries limits the attempts to move this process and its new children.
const maxMoveTries = 100

// errSharedGroup reports that a group contains processes of other programs, so this process must not move them.
var errSharedGroup = errors.New("other programs are in it too")

// delegateControllers enables the controllers of this process's group for the groups in the base directory, and
// returns the enabled ones. It moves this process to the leaf group, if no other program is in the group.
func (h *hierarchy) delegateControllers() ([]string, error) {
	available := readWords(filepath.Join(h.ownGroup, "cgroup.controllers"))
	var wanted []string
	for _, c := range usedControllers {
		if slices.Contains(available, c) {
			wanted = append(wanted, c)
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	enabled := readWords(subtreeControlFile(h.ownGroup))
	if !h.ownGroupIsRoot() && slices.ContainsFunc(wanted, func(c string) bool { return !slices.Contains(enabled, c) }) {
		if err := h.moveSelfToLeaf(); err != nil {
			return nil, err
		}
	}
	var delegated []string
	var firstErr error
	for _, c := range wanted {
		err := h.enableController(c)
		if err == nil {
			err = writeControlFile(subtreeControlFile(h.base.path), "+"+c)
		}
		if err == nil {
			delegated = append(delegated, c)
		} else if firstErr == nil {
			firstErr = fmt.Errorf("give the %s controller to groups in %s: %w", c, h.ownGroup, err)
		}
	}
	return delegated, firstErr
}

// enableController enables a controller for the children of this process's group. It first moves processes that have
// joined the group to the leaf group.
func (h *hierarchy) enableController(controller string) error {
	err := writeControlFile(subtreeControlFile(h.ownGroup), "+"+controller)
	for try := 0; try < maxMoveTries && errors.Is(err, unix.EBUSY) && !h.ownGroupIsRoot(); try++ {
		if err = h.moveSelfToLeaf(); err != nil {
			return err
		}
		err = writeControlFile(subtreeControlFile(h.ownGroup), "+"+controller)
	}
	return err
}

// subtreeControlFile returns the path of the file that enables controllers for child groups.
func subtreeControlFile(dir string) string { return filepath.Join(dir, "cgroup.subtree_control") }

// ownGroupIsRoot reports whether this process's group is the hierarchy's root, which may have processes and enabled
// controllers.
func (h *hierarchy) ownGroupIsRoot() bool {
	_, err := os.Stat(filepath.Join(h.ownGroup, "cgroup.type"))
	return errors.Is(err, os.ErrNotExist)
}

// moveSelfToLeaf moves this process and its children to the leaf group, if no other program is in its group. It
// repeats, because children may start during the move.
func (h *hierarchy) moveSelfToLeaf() error {
	to := filepath.Join(h.base.path, leafGroup)
	if err := os.Mkdir(to, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for try := 0; try < maxMoveTries; try++ {
		in := listProcesses(h.ownGroup)
		if len(in) == 0 {
			return nil
		}
		if slices.ContainsFunc(in, func(pid int) bool { return !isSelfOrDescendant(pid) && !hasExited(pid) }) {
			return errSharedGroup
		}
		for _, pid := range in {
			if err := moveToGroup(to, pid); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return errSharedGroup
}

// isSelfOrDescendant reports whether a process is this one or one of its descendants.
func isSelfOrDescendant(pid int) bool {
	for pid > 1 && pid != os.Getpid() {
		e, ok := proctable.Read(pid)
		if !ok {
			return false
		}
		pid = e.Parent
	}
	return pid == os.Getpid()
}

// undoDelegation undoes delegateControllers, as far as possible.
func (h *hierarchy) undoDelegation() {
	if h.version == 1 || !slices.Contains(listProcesses(filepath.Join(h.base.path, leafGroup)), os.Getpid()) {
		return
	}
	for _, c := range usedControllers {
		_ = writeControlFile(subtreeControlFile(h.base.path), "-"+c)
		_ = writeControlFile(subtreeControlFile(h.ownGroup), "-"+c)
	}
	_ = moveToGroup(h.ownGroup, os.Getpid())
}

// moveToGroup moves a process to a group.
func moveToGroup(dir string, pid int) error {
	return writeControlFile(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid))
}

// listProcesses returns the processes in a group.
func listProcesses(dir string) []int {
	var pids []int
	for _, word := range readWords(filepath.Join(dir, "cgroup.procs")) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// readWords returns the words in a file, or nil if it can't be read.
func readWords(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// checkWritable returns an error if this process can't create groups in its own group.
func (h *hierarchy) checkWritable() error {
	if h.readOnly {
		return unix.EROFS
	}
	for _, file := range []string{"", "cgroup.procs"} {
		if err := unix.Access(filepath.Join(h.ownGroup, file), unix.W_OK); err != nil {
			return err
		}
	}
	return nil
}
