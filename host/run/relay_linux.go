package run

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/picoclaw/picoclaw/internal/pty"
)

// terminalRelay copies between the person's terminal and a separate terminal of the program. The program never gets
// the person's terminal, so it can't type into it or keep it.
type terminalRelay struct {
	in, out *os.File // the person's terminal; nil for a stream that is none
	control *os.File // the program's
	before  *term.State

	mu     sync.Mutex // held while something is written to the person's terminal
	filter terminalEscapeFilter

	wake    [2]*os.File   // a pipe that ends the copying of input
	drained chan struct{} // closed when all output is passed on
	typed   chan struct{} // closed when input is copied no more
}

// findTerminal returns the terminal among the standard streams, and which streams are terminals.
func findTerminal(streams [3]*os.File) (terminal *os.File, leads [3]bool) {
	for i, f := range streams {
		if f != nil && term.IsTerminal(int(f.Fd())) {
			leads[i] = true
			if terminal == nil {
				terminal = f
			}
		}
	}
	return terminal, leads
}

func terminalSize(f *os.File) pty.Size {
	cols, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return pty.Size{Rows: 24, Cols: 80}
	}
	return pty.Size{Rows: uint16(rows), Cols: uint16(cols)} //nolint:gosec // the kernel's are 16 bits wide
}

// startRelay starts copying in both directions.
func (r *terminalRelay) startRelay() error {
	if r.in != nil {
		if err := r.setRawMode(); err != nil {
			return err
		}
	}
	r.drained, r.typed = make(chan struct{}), make(chan struct{})
	go r.copyOutput()
	if r.in == nil {
		close(r.typed)
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return errors.Join(err, r.restoreTerminal())
	}
	r.wake = [2]*os.File{read, write}
	go r.copyInput()
	return nil
}

func (r *terminalRelay) setRawMode() (err error) {
	r.before, err = term.MakeRaw(int(r.in.Fd()))
	return err
}

// restoreTerminal restores the settings of the person's terminal.
func (r *terminalRelay) restoreTerminal() error {
	if r.before == nil {
		return nil
	}
	err := term.Restore(int(r.in.Fd()), r.before)
	r.before = nil
	return err
}

// copyInput copies the person's input to the program, until endRelay.
func (r *terminalRelay) copyInput() {
	defer close(r.typed)
	buffer := make([]byte, 16<<10)
	fds := []unix.PollFd{{Fd: int32(r.in.Fd()), Events: unix.POLLIN}, {Fd: int32(r.wake[0].Fd()), Events: unix.POLLIN}} //nolint:gosec // descriptors
	for {
		fds[0].Revents, fds[1].Revents = 0, 0
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if fds[1].Revents != 0 {
			return
		}
		if fds[0].Revents == 0 {
			continue
		}
		n, err := unix.Read(int(r.in.Fd()), buffer)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil || n == 0:
			return
		}
		if _, err := r.control.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// copyOutput copies the program's output to the person, until no process has the program's terminal open.
func (r *terminalRelay) copyOutput() {
	defer close(r.drained)
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.control.Read(buffer)
		if n > 0 && r.out != nil {
			r.mu.Lock()
			_, writeErr := r.out.Write(r.filter.filterOutput(buffer[:n]))
			r.mu.Unlock()
			if writeErr != nil {
				_, _ = io.Copy(io.Discard, r.control) // the person's terminal is gone; the program hears of that by a signal
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// resizeTerminal sets the size of the program's terminal to the size of the person's.
func (r *terminalRelay) resizeTerminal(terminal *os.File) {
	_ = pty.ResizePTY(r.control, terminalSize(terminal))
}

// showWarningTitle shows a text before the title of the person's window.
func (r *terminalRelay) showWarningTitle(text string) {
	if r.out != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, _ = r.out.Write(r.filter.setTitlePrefix(text))
	}
}

// suspendSelf stops this process, as the person's shell expects when the program stops. It returns when the shell
// continues this process.
func (r *terminalRelay) suspendSelf(terminal *os.File) error {
	r.writeResetSequences()
	if err := r.restoreTerminal(); err != nil {
		return err
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	select {
	case <-continued:
	case <-time.After(200 * time.Millisecond): // there is no shell that could continue it
	}
	if r.in != nil {
		if err := r.setRawMode(); err != nil {
			return err
		}
	}
	r.resizeTerminal(terminal)
	return nil
}

func (r *terminalRelay) writeResetSequences() {
	if r.out != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, _ = r.out.Write(r.filter.modeResetSequences())
	}
}

// drainTimeout limits how long remaining output is copied after the end of the program.
const drainTimeout = 2 * time.Second

// endRelay copies the remaining output and restores the person's terminal.
func (r *terminalRelay) endRelay() error {
	select {
	case <-r.drained:
	case <-time.After(drainTimeout):
		_ = r.control.SetReadDeadline(time.Now())
	}
	if r.wake[1] != nil {
		_ = r.wake[1].Close()
		<-r.typed
		_ = r.wake[0].Close()
	}
	r.writeResetSequences()
	return errors.Join(r.control.Close(), r.restoreTerminal())
}
