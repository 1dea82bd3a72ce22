package isolation

import (
	"cmp"
	"errors"
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

// suspendedProcess is a new process before its first instruction.
type suspendedProcess struct {
	job     *jobObject
	child   *exec.Cmd
	process windows.Handle
}

var _ suspendedChild = &suspendedProcess{}

func (c *suspendedProcess) closeHandle() { _ = windows.CloseHandle(c.process) }

func (c *suspendedProcess) assignToJob() error {
	if err := windows.AssignProcessToJobObject(c.job.handle, c.process); err != nil {
		return fmt.Errorf("put a process into its job: %w", err)
	}
	return nil
}

// readRestriction returns the restrictions that Windows reports for the process.
func (c *suspendedProcess) readRestriction() (r processRestriction, err error) {
	var token windows.Token
	if err = windows.OpenProcessToken(c.process, windows.TOKEN_QUERY, &token); err != nil {
		return r, fmt.Errorf("open the token of a process: %w", err)
	}
	defer func() { _ = token.Close() }()
	if r, err = readTokenRestriction(token); err != nil {
		return r, err
	}
	if r.inJob, err = isInJob(c.process, c.job.handle); err != nil {
		return r, err
	}
	r.killOnClose, err = c.job.killsOnClose()
	return r, err
}

func isInJob(process, job windows.Handle) (bool, error) {
	var in int32
	ok, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc("IsProcessInJob").Call(
		uintptr(process), uintptr(job), uintptr(unsafe.Pointer(&in)))
	if ok == 0 {
		return false, fmt.Errorf("find out whether a process is in its job: %w", err)
	}
	return in != 0, nil
}

// resumeProcess resumes the process's only thread.
func (c *suspendedProcess) resumeProcess() error {
	pid := uint32(c.child.Process.Pid)
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID == pid {
			return resumeThread(entry.ThreadID)
		}
	}
	if errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return errors.New("the process that was created has no thread")
	}
	return fmt.Errorf("list threads: %w", err)
}

func resumeThread(id uint32) error {
	thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, id)
	if err != nil {
		return fmt.Errorf("open the thread of a process: %w", err)
	}
	defer func() { _ = windows.CloseHandle(thread) }()
	if _, err := windows.ResumeThread(thread); err != nil {
		return fmt.Errorf("let a process run: %w", err)
	}
	return nil
}

func (c *suspendedProcess) terminateProcess() {
	_ = windows.TerminateProcess(c.process, 1)
	_ = c.child.Wait() // that it was ended is no news
}
