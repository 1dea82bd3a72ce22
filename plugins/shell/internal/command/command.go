// Package command starts commands and ends them for certain. It must not know tools, calls or agents.
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

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/pty"
)

// Grace is how long a command's processes have between SIGTERM and SIGKILL.
const Grace = 2 * time.Second

// drainGrace is how long the output of a command whose processes are gone may take to be read, when none comes. What
// the kernel can't end may hold the pipes.
const drainGrace = 500 * time.Millisecond

// Spec says what to run and where its output goes.
type Spec struct {
	Shell  []string // the program, and its arguments with the command's text
	Dir    *os.File // where it starts: the directory itself, whatever its name has come to mean
	Env    []string
	Stdin  bool      // whether something will be written to it
	PTY    *pty.Size // runs it on a terminal of this size
	Output func(stream int, p []byte)
	Ended  func() // called when it has ended, before it is over
}

// Running is a command that was started.
type Running struct {
	Began time.Time

	process *isolation.Process
	control *os.File   // of the terminal, if it runs on one
	readers []*os.File // of its output
	read    sync.WaitGroup
	over    chan struct{} // closed when it has ended and its output is read

	writing sync.Mutex
	stdin   *os.File // nil when nothing can be written
}

// Start starts a command.
func Start(l *isolation.Isolation, p isolation.Profile, s Spec) (*Running, error) {
	r := &Running{Began: time.Now(), over: make(chan struct{})}
	cmd := exec.Command(s.Shell[0], s.Shell[1:]...)
	cmd.Dir, cmd.Env = handlePath(s.Dir), s.Env
	connect := r.pipes
	if s.PTY != nil {
		connect = r.terminal
	}
	theirs, err := connect(cmd, s)
	defer closeAll(theirs)
	if err != nil {
		closeAll(r.ours())
		return nil, err
	}
	if r.process, err = l.Start(cmd, p); err != nil {
		closeAll(r.ours())
		return nil, fmt.Errorf("start the command: %w", err)
	}
	for stream, f := range r.readers {
		r.read.Go(func() { drain(f, stream, s.Output) })
	}
	go r.follow(s.Ended)
	return r, nil
}

// pipes gives the command pipes for its streams; it returns its ends.
func (r *Running) pipes(cmd *exec.Cmd, s Spec) (theirs []*os.File, err error) {
	for _, to := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		ours, its, err := os.Pipe()
		if err != nil {
			return theirs, fmt.Errorf("make a pipe for the command's output: %w", err)
		}
		r.readers, theirs = append(r.readers, ours), append(theirs, its)
		widen(its)
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

// terminal gives the command a terminal of its own for all its streams.
func (r *Running) terminal(cmd *exec.Cmd, s Spec) (theirs []*os.File, err error) {
	control, its, err := pty.Open(*s.PTY)
	if err != nil {
		return nil, err
	}
	r.control, r.stdin, r.readers = control, control, []*os.File{control}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = its, its, its
	cmd.SysProcAttr = onTerminal()
	return []*os.File{its}, nil
}

func (r *Running) ours() []*os.File { return append([]*os.File{r.stdin}, r.readers...) }

// drain passes on what comes, until its end.
func drain(f *os.File, stream int, pass func(int, []byte)) {
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

// follow waits for the end of the command and of its output.
func (r *Running) follow(ended func()) {
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
		case <-time.After(drainGrace):
			for _, f := range r.readers { // ends those that wait, not those that have something to pass on
				_ = f.SetReadDeadline(time.Now())
			}
		}
	}
	r.writing.Lock()
	closeAll(r.ours())
	r.stdin, r.control = nil, nil
	r.writing.Unlock()
	ended()
	close(r.over)
}

// Over is closed when the command has ended, with all that it started, and its output has been passed on.
func (r *Running) Over() <-chan struct{} { return r.over }

// Exit says how the command ended, once it is over.
func (r *Running) Exit() (isolation.Exit, error) { return r.process.Wait(context.Background()) }

// End ends the command: SIGTERM to all its processes, then after the grace SIGKILL.
func (r *Running) End() { _, _ = r.process.Stop(context.Background(), Grace) }

// Signal sends a signal to all its processes.
func (r *Running) Signal(sig os.Signal) error { return r.process.Signal(sig) }

// errNoInput is returned for writing to a command that takes nothing more.
var errNoInput = errors.New("the command takes no input any more")

// inputPatience is how long a command may take to read what is written to it.
const inputPatience = 5 * time.Second

// Write writes to the command's standard input, and waits until the command has room for it.
func (r *Running) Write(p []byte) (int, error) {
	r.writing.Lock()
	stdin := r.stdin
	r.writing.Unlock()
	if stdin == nil {
		return 0, errNoInput
	}
	_ = stdin.SetWriteDeadline(time.Now().Add(inputPatience))
	return stdin.Write(p)
}

// CloseInput ends the command's standard input: for a terminal, by the character that means the end.
func (r *Running) CloseInput() error {
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
func (r *Running) Resize(size pty.Size) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.control == nil {
		return errors.New("the command does not run on a terminal (pty)")
	}
	return pty.Resize(r.control, size)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Feed writes all of text to the command and ends its input, while it runs.
func (r *Running) Feed(text string) {
	go func() {
		r.writing.Lock()
		stdin := r.stdin
		r.writing.Unlock()
		if stdin != nil {
			_, _ = io.WriteString(stdin, text) // whoever does not read it does not want it
		}
		_ = r.CloseInput()
	}()
}
