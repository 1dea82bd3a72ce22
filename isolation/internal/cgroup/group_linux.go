package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// Group is a control group, with a directory in each hierarchy. It is safe for concurrent use.
type Group struct {
	dirs       []groupDir
	removeOnce sync.Once
}

// groupDir is the directory of a group in one hierarchy.
type groupDir struct {
	version int
	path    string
	parent  string // group of this process, which its threads return to
}

// NewGroup creates a group with limits. The name is only for people and need not be unique.
func (p *Hierarchies) NewGroup(name string, l GroupLimits) (*Group, error) {
	name = sanitizeName(name) + "-" + strconv.FormatUint(p.groupCount.Add(1), 10)
	g := &Group{}
	for _, h := range p.hierarchies {
		dir := filepath.Join(h.base.path, name)
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			g.dirs = append(g.dirs, groupDir{h.version, dir, h.ownGroup})
			err = p.applyLimits(h, dir, l)
		}
		if err != nil {
			g.KillAndRemove()
			return nil, fmt.Errorf("make the control group %s: %w", dir, err)
		}
	}
	return g, nil
}

// applyLimits writes the limits of each controller that the hierarchy provides.
func (p *Hierarchies) applyLimits(h *hierarchy, dir string, l GroupLimits) error {
	for controller, keeper := range p.providers {
		if keeper != h {
			continue
		}
		if err := writeSettings(dir, controllerSettings(h.version, controller, l)); err != nil {
			return err
		}
	}
	return nil
}

// sanitizeName replaces all characters that are not letters, digits, "-" or "_".
func sanitizeName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// PrepareChildStart prepares the calling thread to start a child in the group. The thread must be locked. In v1, PrepareChildStart
// moves the thread into the group, and leave moves it back. In v2, it changes attr so that the kernel starts the child
// in the group. If attr is nil, leave moves the child; processes that the child started before stay outside.
//
// leave takes the process id of the child, or 0 if there is none. It opens no files, so it works after restrictions.
func (g *Group) PrepareChildStart(attr *syscall.SysProcAttr) (leave func(pid int) error, err error) {
	var returnFiles, procsFiles, files []*os.File
	open := func(flag int, path ...string) *os.File {
		f, failed := os.OpenFile(filepath.Join(path...), flag, 0)
		if failed != nil {
			err = errors.Join(err, failed)
			return nil
		}
		files = append(files, f)
		return f
	}
	leave = func(pid int) error {
		defer func() {
			for _, f := range files {
				_ = f.Close()
			}
		}()
		var failed []error
		for _, f := range returnFiles {
			failed = append(failed, moveProcess(f, 0))
		}
		if pid > 0 && (attr == nil || !attr.UseCgroupFD) {
			for _, f := range procsFiles {
				failed = append(failed, moveProcess(f, pid))
			}
		}
		return errors.Join(failed...)
	}
	for _, part := range g.dirs {
		if part.version == 2 {
			procsFiles = append(procsFiles, open(os.O_WRONLY, part.path, "cgroup.procs"))
			if dir := open(os.O_RDONLY, part.path); attr != nil && dir != nil {
				attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
			}
			continue
		}
		to, from := open(os.O_WRONLY, part.path, "tasks"), open(os.O_WRONLY, part.parent, "tasks")
		if err != nil {
			break
		}
		if err = moveProcess(to, 0); err != nil {
			break
		}
		returnFiles = append(returnFiles, from)
	}
	if err != nil {
		if attr != nil {
			attr.UseCgroupFD = false
		}
		return nil, errors.Join(fmt.Errorf("start a process in a control group: %w", err), leave(0))
	}
	return leave, nil
}

// moveProcess moves a process to the group of the open file f; pid 0 means the calling thread. Moving a thread in v1
// takes microseconds. Moving a process blocks the start of other processes for some milliseconds.
func moveProcess(f *os.File, pid int) error {
	if _, err := f.WriteString(strconv.Itoa(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("move process %d to %s: %w", pid, f.Name(), err)
	}
	return nil
}

// hasExited reports whether a process has ended. A zombie has ended.
func hasExited(pid int) bool {
	e, ok := proctable.Read(pid)
	return !ok || !e.IsAlive()
}

// KillProcesses kills all processes in the group.
func (g *Group) KillProcesses() {
	for _, part := range g.dirs {
		killProcesses(part.path)
	}
}

// KillAndRemove kills the processes in the group and removes the group.
func (g *Group) KillAndRemove() {
	g.removeOnce.Do(func() {
		for _, part := range g.dirs {
			killAndRemoveGroup(part.path)
		}
	})
}

// Controllers that can limit a group.
const (
	Processes = "pids"
	Memory    = "memory"
	Processor = "cpu"
)

// usedControllers are the controllers that this package uses.
var usedControllers = []string{Processes, Memory, Processor}

// totalCPUShares returns the v1 CPU weight of all groups together: 512 per processor. A process outside the groups has
// 1024, so this process answers quickly while commands use all processors.
func totalCPUShares() string { return strconv.Itoa(512 * runtime.NumCPU()) }

// controlSetting is a control file of a group and the value to write.
type controlSetting struct {
	file, value string
	optional    bool // missing in some kernels
}

// controllerSettings returns the control files and values that set the limits of a controller.
func controllerSettings(version int, controller string, l GroupLimits) []controlSetting {
	var all []controlSetting
	switch {
	case controller == Processes && l.Processes > 0:
		all = []controlSetting{{file: "pids.max", value: strconv.Itoa(l.Processes)}}
	case controller == Memory && l.Memory > 0 && version == 2:
		// Without this, excess memory goes to swap and slows the whole machine down.
		all = []controlSetting{{file: "memory.max", value: formatDecimal(l.Memory)}, {"memory.swap.max", "0", true}}
	case controller == Memory && l.Memory > 0:
		// The second limit includes swap, and can't be lower than the first.
		all = []controlSetting{{file: "memory.limit_in_bytes", value: formatDecimal(l.Memory)},
			{"memory.memsw.limit_in_bytes", formatDecimal(l.Memory), true}}
	case controller == Processor && l.Weight > 0 && version == 2:
		all = []controlSetting{{file: "cpu.weight", value: strconv.Itoa(l.Weight)}}
	case controller == Processor && l.Weight > 0:
		all = []controlSetting{{file: "cpu.shares", value: strconv.Itoa(max(2, l.Weight*1024/100))}}
	}
	return all
}

// formatDecimal formats a number of bytes.
func formatDecimal(n int64) string { return strconv.FormatInt(n, 10) }

// writeSettings writes the settings of a group.
func writeSettings(dir string, all []controlSetting) error {
	for _, k := range all {
		if err := writeControlFile(filepath.Join(dir, k.file), k.value); err != nil && !k.optional {
			return fmt.Errorf("set %s to %s: %w", k.file, k.value, err)
		}
	}
	return nil
}

// writeControlFile writes a control file in one call. It never creates a file.
func writeControlFile(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
