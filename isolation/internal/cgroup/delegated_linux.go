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

// leaf is the group in a base that this process moves to: a group of version 2 that gives controllers to the groups in
// it has no processes of its own.
const leaf = "host"

// moveTries bounds how often this process and what it starts meanwhile are moved.
const moveTries = 100

// errNotAlone is for a group that others are in as well: they would have to be moved too, and are not ours.
var errNotAlone = errors.New("other programs are in it too")

// delegate gives the groups in h's base the controllers that h's own group has, and returns those that it could give.
// To do that it moves this process, if it is alone there.
func (h *hierarchy) delegate() ([]string, error) {
	has := words(filepath.Join(h.own, "cgroup.controllers"))
	var wanted []string
	for _, c := range controllers {
		if slices.Contains(has, c) {
			wanted = append(wanted, c)
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	given := words(subtree(h.own))
	if !h.root() && slices.ContainsFunc(wanted, func(c string) bool { return !slices.Contains(given, c) }) {
		if err := h.moveSelf(); err != nil {
			return nil, err
		}
	}
	var got []string
	var failed error
	for _, c := range wanted {
		err := h.give(c)
		if err == nil {
			err = write(subtree(h.base.dir), "+"+c)
		}
		if err == nil {
			got = append(got, c)
		} else if failed == nil {
			failed = fmt.Errorf("give the %s controller to groups in %s: %w", c, h.own, err)
		}
	}
	return got, failed
}

// give has h's own group give a controller to the groups in it. Whoever has come to it meanwhile has to go first.
func (h *hierarchy) give(controller string) error {
	err := write(subtree(h.own), "+"+controller)
	for try := 0; try < moveTries && errors.Is(err, unix.EBUSY) && !h.root(); try++ {
		if err := h.moveSelf(); err != nil {
			return err
		}
		err = write(subtree(h.own), "+"+controller)
	}
	return err
}

func subtree(dir string) string { return filepath.Join(dir, "cgroup.subtree_control") }

// root reports whether h's own group is the first of all, which may have processes as well as controllers to give.
func (h *hierarchy) root() bool {
	_, err := os.Stat(filepath.Join(h.own, "cgroup.type"))
	return errors.Is(err, os.ErrNotExist)
}

// moveSelf moves this process to a leaf, if nobody else is in h's own group. What it has started meanwhile moves with
// it: the kernel may take a while to move a process, and nobody waits for that.
func (h *hierarchy) moveSelf() error {
	to := filepath.Join(h.base.dir, leaf)
	if err := os.Mkdir(to, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for try := 0; try < moveTries; try++ {
		in := processes(h.own)
		if len(in) == 0 {
			return nil
		}
		if slices.ContainsFunc(in, func(pid int) bool { return !ours(pid) && !gone(pid) }) {
			return errNotAlone
		}
		for _, pid := range in {
			if err := join(to, pid); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return errNotAlone
}

// ours reports whether a process is this one or descends from it.
func ours(pid int) bool {
	for pid > 1 && pid != os.Getpid() {
		e, ok := proctable.Read(pid)
		if !ok {
			return false
		}
		pid = e.Parent
	}
	return pid == os.Getpid()
}

// restore undoes what delegate did, as far as it can.
func (h *hierarchy) restore() {
	if h.version == 1 || !slices.Contains(processes(filepath.Join(h.base.dir, leaf)), os.Getpid()) {
		return
	}
	for _, c := range controllers {
		_ = write(subtree(h.base.dir), "-"+c)
		_ = write(subtree(h.own), "-"+c)
	}
	_ = join(h.own, os.Getpid())
}

// join moves a process to a group.
func join(dir string, pid int) error {
	return write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid))
}

// processes are those in a group.
func processes(dir string) []int {
	var pids []int
	for _, word := range words(filepath.Join(dir, "cgroup.procs")) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func words(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// writable says why no group can be made in h's own; nil if one can.
func (h *hierarchy) writable() error {
	if h.readOnly {
		return unix.EROFS
	}
	for _, file := range []string{"", "cgroup.procs"} {
		if err := unix.Access(filepath.Join(h.own, file), unix.W_OK); err != nil {
			return err
		}
	}
	return nil
}
