package isolation

import (
	"cmp"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// jobObject is a Windows job with a child and all its descendants, which can't leave it.
type jobObject struct {
	mu     sync.Mutex
	handle windows.Handle // 0 when closed
}

var _ processTree = &jobObject{}

// newJobObject creates a job that enforces limits and ends with this process. A restricted job also denies the
// clipboard, windows of other programs, and logoff.
func newJobObject(l ProcessLimits, restricted bool) (*jobObject, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make a job object: %w", err)
	}
	j := &jobObject{handle: handle}
	limits := jobLimits(l)
	if err := j.setInformation(windows.JobObjectExtendedLimitInformation, unsafe.Pointer(&limits),
		unsafe.Sizeof(limits)); err != nil {
		j.closeHandle()
		return nil, err
	}
	if restricted {
		ui := windows.JOBOBJECT_BASIC_UI_RESTRICTIONS{UIRestrictionsClass: windows.JOB_OBJECT_UILIMIT_HANDLES |
			windows.JOB_OBJECT_UILIMIT_READCLIPBOARD | windows.JOB_OBJECT_UILIMIT_WRITECLIPBOARD |
			windows.JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS | windows.JOB_OBJECT_UILIMIT_DISPLAYSETTINGS |
			windows.JOB_OBJECT_UILIMIT_GLOBALATOMS | windows.JOB_OBJECT_UILIMIT_DESKTOP | windows.JOB_OBJECT_UILIMIT_EXITWINDOWS}
		if err := j.setInformation(windows.JobObjectBasicUIRestrictions, unsafe.Pointer(&ui), unsafe.Sizeof(ui)); err != nil {
			j.closeHandle()
			return nil, err
		}
	}
	return j, nil
}

// jobLimits converts limits to those of a job. Windows has no file size limit.
func jobLimits(l ProcessLimits) windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION {
	const timeUnit = 100 * time.Nanosecond
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	flags := uint32(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION)
	if l.Processes > 0 {
		flags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		info.BasicLimitInformation.ActiveProcessLimit = uint32(l.Processes)
	}
	if l.Memory > 0 {
		flags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		info.JobMemoryLimit = uintptr(l.Memory)
	}
	if l.CPU > 0 {
		flags |= windows.JOB_OBJECT_LIMIT_JOB_TIME
		info.BasicLimitInformation.PerJobUserTimeLimit = int64(l.CPU / timeUnit)
	}
	info.BasicLimitInformation.LimitFlags = flags
	return info
}

func (j *jobObject) setInformation(class uint32, info unsafe.Pointer, size uintptr) error {
	if _, err := windows.SetInformationJobObject(j.handle, class, uintptr(info), uint32(size)); err != nil {
		return fmt.Errorf("set the limits of a job object: %w", err)
	}
	return nil
}

// killsOnClose reports whether the job ends with this process.
func (j *jobObject) killsOnClose() (bool, error) {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	err := windows.QueryInformationJobObject(j.handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return false, fmt.Errorf("read the limits of a job object: %w", err)
	}
	return info.BasicLimitInformation.LimitFlags&windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE != 0, nil
}

// signalAll kills all processes: Windows has no other signals.
func (j *jobObject) signalAll(syscall.Signal) error { j.killAll(); return nil }

func (j *jobObject) killAll() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle != 0 {
		_ = windows.TerminateJobObject(j.handle, 1)
	}
}

func (j *jobObject) closeHandle() {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = windows.CloseHandle(j.handle)
	j.handle = 0
}

// openSuspended opens a child that was created suspended.
func (j *jobObject) openSuspended(child *exec.Cmd) (*suspendedProcess, error) {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.PROCESS_QUERY_INFORMATION
	process, err := windows.OpenProcess(access, false, uint32(child.Process.Pid))
	if err != nil {
		return nil, fmt.Errorf("open the process that was created: %w", err)
	}
	return &suspendedProcess{job: j, child: child, process: process}, nil
}

// CgroupSupport describes the effect of control groups on this machine.
func (i *Starter) CgroupSupport() CgroupSupport {
	if !i.cfg.UseCgroups {
		return CgroupSupport{Cause: "nobody asked for them"}
	}
	return CgroupSupport{Bounds: []string{"processes", "memory"}, Kill: true}
}

// effectiveLimits returns the child's limits, with the group's limits where the child has none.
func (p Profile) effectiveLimits() ProcessLimits {
	l := p.Limits
	l.Processes = cmp.Or(l.Processes, p.Group.Processes)
	l.Memory = cmp.Or(l.Memory, p.Group.Memory)
	return l
}
