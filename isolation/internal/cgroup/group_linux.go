package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// Group is a control group: a directory in each hierarchy that is used. It may be used concurrently.
type Group struct {
	parts   []part
	removed sync.Once
}

type part struct {
	version int
	dir     string
	around  string // the group that this process's threads come from
}

// New makes a group. The name is for who looks at the machine's groups; it need not be another one each time.
func (p *Place) New(name string, l Limits) (*Group, error) {
	name = plain(name) + "-" + strconv.FormatUint(p.made.Add(1), 10)
	g := &Group{}
	for _, h := range p.used {
		dir := filepath.Join(h.base.dir, name)
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			g.parts = append(g.parts, part{h.version, dir, h.own})
			err = p.turnAll(h, dir, l)
		}
		if err != nil {
			g.Remove()
			return nil, fmt.Errorf("make the control group %s: %w", dir, err)
		}
	}
	return g, nil
}

func (p *Place) turnAll(h *hierarchy, dir string, l Limits) error {
	for controller, keeper := range p.bounds {
		if keeper != h {
			continue
		}
		if err := turn(dir, knobs(h.version, controller, l)); err != nil {
			return err
		}
	}
	return nil
}

// plain leaves of a name what is harmless in a path.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// Enter prepares the calling thread, which must be locked, to start a child in the group. In version 1 the thread is in
// the group until it calls leave; in version 2 attr is changed so that the kernel starts the child there. A nil attr is
// for a thread that may not do so: leave then moves the child, and what the child has started until then stays outside.
//
// Leave takes the child's process id, or 0 if there is no child. It needs no rights to files.
func (g *Group) Enter(attr *syscall.SysProcAttr) (leave func(pid int) error, err error) {
	var back, move, opened []*os.File
	open := func(flag int, path ...string) *os.File {
		f, failed := os.OpenFile(filepath.Join(path...), flag, 0)
		if failed != nil {
			err = errors.Join(err, failed)
			return nil
		}
		opened = append(opened, f)
		return f
	}
	leave = func(pid int) error {
		defer func() {
			for _, f := range opened {
				_ = f.Close()
			}
		}()
		var failed []error
		for _, f := range back {
			failed = append(failed, moveTo(f, 0))
		}
		if pid > 0 && (attr == nil || !attr.UseCgroupFD) {
			for _, f := range move {
				failed = append(failed, moveTo(f, pid))
			}
		}
		return errors.Join(failed...)
	}
	for _, part := range g.parts {
		if part.version == 2 {
			move = append(move, open(os.O_WRONLY, part.dir, "cgroup.procs"))
			if dir := open(os.O_RDONLY, part.dir); attr != nil && dir != nil {
				attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
			}
			continue
		}
		to, from := open(os.O_WRONLY, part.dir, "tasks"), open(os.O_WRONLY, part.around, "tasks")
		if err != nil {
			break
		}
		if err = moveTo(to, 0); err != nil {
			break
		}
		back = append(back, from)
	}
	if err != nil {
		if attr != nil {
			attr.UseCgroupFD = false
		}
		return nil, errors.Join(fmt.Errorf("start a process in a control group: %w", err), leave(0))
	}
	return leave, nil
}

// moveTo moves a process to the group whose opened file f is, or the calling thread for 0. The kernel moves a thread of
// version 1 in microseconds; for a process it lets nobody start another for some milliseconds.
func moveTo(f *os.File, pid int) error {
	if _, err := f.WriteString(strconv.Itoa(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("move process %d to %s: %w", pid, f.Name(), err)
	}
	return nil
}

// gone reports whether a process has ended; one that was not waited for stays where it was.
func gone(pid int) bool {
	e, ok := proctable.Read(pid)
	return !ok || !e.Alive()
}

// Kill ends everybody in the group.
func (g *Group) Kill() {
	for _, part := range g.parts {
		killAll(part.dir)
	}
}

// Remove ends who is left in the group and removes it.
func (g *Group) Remove() {
	g.removed.Do(func() {
		for _, part := range g.parts {
			remove(part.dir)
		}
	})
}
