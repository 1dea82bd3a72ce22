package isolation

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// job holds a child and all that it will ever start: nobody gets out of a job that does not allow it. It is the child's
// tree.
type job struct {
	mu     sync.Mutex
	handle windows.Handle // 0 once it is closed
}

var _ tree = &job{}

// newJob makes a job that ends with this process, and that bounds what is in it. A restricted one keeps to itself, too:
// no clipboard, no other process's windows, no ending of the session.
func newJob(l Limits, restricted bool) (*job, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make a job object: %w", err)
	}
	j := &job{handle: handle}
	limits := jobLimits(l)
	if err := j.set(windows.JobObjectExtendedLimitInformation, unsafe.Pointer(&limits),
		unsafe.Sizeof(limits)); err != nil {
		j.close()
		return nil, err
	}
	if restricted {
		ui := windows.JOBOBJECT_BASIC_UI_RESTRICTIONS{UIRestrictionsClass: windows.JOB_OBJECT_UILIMIT_HANDLES |
			windows.JOB_OBJECT_UILIMIT_READCLIPBOARD | windows.JOB_OBJECT_UILIMIT_WRITECLIPBOARD |
			windows.JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS | windows.JOB_OBJECT_UILIMIT_DISPLAYSETTINGS |
			windows.JOB_OBJECT_UILIMIT_GLOBALATOMS | windows.JOB_OBJECT_UILIMIT_DESKTOP | windows.JOB_OBJECT_UILIMIT_EXITWINDOWS}
		if err := j.set(windows.JobObjectBasicUIRestrictions, unsafe.Pointer(&ui), unsafe.Sizeof(ui)); err != nil {
			j.close()
			return nil, err
		}
	}
	return j, nil
}

// jobLimits are the limits in Windows' terms. What bounds a single file has none.
func jobLimits(l Limits) windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION {
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

func (j *job) set(class uint32, info unsafe.Pointer, size uintptr) error {
	if _, err := windows.SetInformationJobObject(j.handle, class, uintptr(info), uint32(size)); err != nil {
		return fmt.Errorf("set the limits of a job object: %w", err)
	}
	return nil
}

// killsOnClose reads back whether the job ends with this process.
func (j *job) killsOnClose() (bool, error) {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	err := windows.QueryInformationJobObject(j.handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return false, fmt.Errorf("read the limits of a job object: %w", err)
	}
	return info.BasicLimitInformation.LimitFlags&windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE != 0, nil
}

// signal ends everybody: there are no other signals here.
func (j *job) signal(os.Signal) error { j.kill(); return nil }

func (j *job) kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle != 0 {
		_ = windows.TerminateJobObject(j.handle, 1)
	}
}

func (j *job) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = windows.CloseHandle(j.handle)
	j.handle = 0
}

// created returns the child that was just created, suspended.
func (j *job) created(child *exec.Cmd) (*created, error) {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.PROCESS_QUERY_INFORMATION
	process, err := windows.OpenProcess(access, false, uint32(child.Process.Pid))
	if err != nil {
		return nil, fmt.Errorf("open the process that was created: %w", err)
	}
	return &created{job: j, child: child, process: process}, nil
}

// Groups says what there is of control groups: a child's job does the same.
func (i *Isolation) Groups() Groups {
	if !i.cfg.Groups {
		return Groups{Cause: "nobody asked for them"}
	}
	return Groups{Bounds: []string{"processes", "memory"}, Kill: true}
}

// jobBounds are what a child's job bounds: its own limits, or else those of the group that the job stands for.
func (p Profile) jobBounds() Limits {
	l := p.Limits
	l.Processes = cmp.Or(l.Processes, p.Group.Processes)
	l.Memory = cmp.Or(l.Memory, p.Group.Memory)
	return l
}
