// Package command starts commands and guarantees their end. It must not know tools, calls or agents.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/internal/pty"
	"github.com/picoclaw/picoclaw/isolation"
)

// StopGrace is the time between SIGTERM and SIGKILL.
const StopGrace = 2 * time.Second

// drainTimeout limits the time for reading output after the processes ended: one may be unkillable and keep a pipe.
const drainTimeout = 500 * time.Millisecond

// CommandSpec describes a command to start and the receiver of its output.
type CommandSpec struct {
	Shell  []string // the program, and its arguments with the command's text
	Dir    *os.File // open working directory, which stays the same if it is renamed
	Env    []string
	Stdin  bool      // whether something will be written to it
	PTY    *pty.Size // runs it on a terminal of this size
	Output func(stream int, p []byte)
	Ended  func() // called when it has ended, before it is over
}

// RunningCommand is a command that was started, with its streams.
type RunningCommand struct {
	Began time.Time

	process *isolation.Process
	control *os.File   // of the terminal, if it runs on one
	readers []*os.File // of its output
	read    sync.WaitGroup
	over    chan struct{} // closed when it has ended and its output is read

	writing sync.Mutex
	stdin   *os.File // nil when nothing can be written
}

// StartCommand starts a command in the sandbox of a profile.
func StartCommand(l *isolation.Starter, p isolation.Profile, s CommandSpec) (*RunningCommand, error) {
	r := &RunningCommand{Began: time.Now(), over: make(chan struct{})}
	cmd := exec.Command(s.Shell[0], s.Shell[1:]...)
	cmd.Dir, cmd.Env = pathOfOpenDir(s.Dir), s.Env
	connect := r.openPipes
	if s.PTY != nil {
		connect = r.openTerminal
	}
	theirs, err := connect(cmd, s)
	defer closeAll(theirs)
	if err != nil {
		closeAll(r.pluginPipeEnds())
		return nil, err
	}
	if r.process, err = l.Start(cmd, p); err != nil {
		closeAll(r.pluginPipeEnds())
		return nil, fmt.Errorf("start the command: %w", err)
	}
	for stream, f := range r.readers {
		r.read.Go(func() { forwardOutput(f, stream, s.Output) })
	}
	go r.awaitEnd(s.Ended)
	return r, nil
}

// openPipes creates pipes for the streams and returns the ends for the command.
func (r *RunningCommand) openPipes(cmd *exec.Cmd, s CommandSpec) (theirs []*os.File, err error) {
	for _, to := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		ours, its, err := os.Pipe()
		if err != nil {
			return theirs, fmt.Errorf("make a pipe for the command's output: %w", err)
		}
		r.readers, theirs = append(r.readers, ours), append(theirs, its)
		enlargePipe(its)
		*to = its
	}
	if s.Stdin {
		its, ours, err := os.Pipe()
		if err != nil {
			return theirs, fmt.Errorf("make a pipe for the command's input: %w", err)
		}
		r.stdin, theirs = ours, append(theirs, its)
		cmd.Stdin = its
	}
	return theirs, nil
}

// openTerminal creates a terminal for all streams and returns the end for the command.
func (r *RunningCommand) openTerminal(cmd *exec.Cmd, s CommandSpec) (theirs []*os.File, err error) {
	control, its, err := pty.OpenPTY(*s.PTY)
	if err != nil {
		return nil, err
	}
	r.control, r.stdin, r.readers = control, control, []*os.File{control}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = its, its, its
	cmd.SysProcAttr = terminalAttributes()
	return []*os.File{its}, nil
}

func (r *RunningCommand) pluginPipeEnds() []*os.File {
	return append([]*os.File{r.stdin}, r.readers...)
}

// forwardOutput passes the output of a stream to pass until its end.
func forwardOutput(f *os.File, stream int, pass func(int, []byte)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			pass(stream, buf[:n])
			_ = f.SetReadDeadline(time.Time{})
		}
		if err != nil {
			return
		}
	}
}

// awaitEnd waits for the end of the command and its output, and closes the streams.
func (r *RunningCommand) awaitEnd(ended func()) {
	<-r.process.Done()
	read := make(chan struct{})
	go func() {
		r.read.Wait()
		close(read)
	}()
	for waiting := true; waiting; {
		select {
		case <-read:
			waiting = false
		case <-time.After(drainTimeout):
			for _, f := range r.readers { // ends those that wait, not those that have something to pass on
				_ = f.SetReadDeadline(time.Now())
			}
		}
	}
	r.writing.Lock()
	closeAll(r.pluginPipeEnds())
	r.stdin, r.control = nil, nil
	r.writing.Unlock()
	ended()
	close(r.over)
}

// Done returns a channel that is closed when the command has ended and all output was passed on.
func (r *RunningCommand) Done() <-chan struct{} { return r.over }

// ExitStatus returns the final exit status.
func (r *RunningCommand) ExitStatus() (isolation.ExitStatus, error) {
	return r.process.Wait(context.Background())
}

// StopCommand sends SIGTERM to all processes of the command, and SIGKILL after StopGrace.
func (r *RunningCommand) StopCommand() { _, _ = r.process.Stop(context.Background(), StopGrace) }

// SignalAll sends a signal to all processes of the command.
func (r *RunningCommand) SignalAll(sig os.Signal) error { return r.process.Signal(sig) }

// errInputClosed is the error for input after the command's input was closed.
var errInputClosed = errors.New("the command no longer reads input")

// inputTimeout limits the time that a command may take to read its input.
const inputTimeout = 5 * time.Second

// Write writes to the command's standard input. It blocks while the command does not read.
func (r *RunningCommand) Write(p []byte) (int, error) {
	r.writing.Lock()
	stdin := r.stdin
	r.writing.Unlock()
	if stdin == nil {
		return 0, errInputClosed
	}
	_ = stdin.SetWriteDeadline(time.Now().Add(inputTimeout))
	return stdin.Write(p)
}

// CloseInput closes the command's standard input, or sends the end-of-file character to its terminal.
func (r *RunningCommand) CloseInput() error {
	r.writing.Lock()
	defer r.writing.Unlock()
	switch {
	case r.stdin == nil:
		return nil
	case r.control != nil:
		_, err := r.control.Write([]byte{4})
		return err
	}
	err := r.stdin.Close()
	r.stdin = nil
	return err
}

// Resize changes the size of the terminal.
func (r *RunningCommand) Resize(size pty.Size) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.control == nil {
		return errors.New("the command does not run on a terminal (pty)")
	}
	return pty.ResizePTY(r.control, size)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// WriteAndCloseInput writes text to the command's input and closes it, without blocking the caller.
func (r *RunningCommand) WriteAndCloseInput(text string) {
	go func() {
		r.writing.Lock()
		stdin := r.stdin
		r.writing.Unlock()
		if stdin != nil {
			_, _ = io.WriteString(stdin, text) // the command may not read its input
		}
		_ = r.CloseInput()
	}()
}
