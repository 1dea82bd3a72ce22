package isolation

import (
	"errors"
	"fmt"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

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
