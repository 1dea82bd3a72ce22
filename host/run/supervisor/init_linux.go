package supervisor

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/picoclaw/picoclaw/host/run/internal/wire"
)

// RunInit starts a program as the foreground job of its terminal, waits for it, and returns the exit code. This
// process leads the session, so that the program can be stopped and continued, as under a shell. terminal names the
// stream that is the terminal.
func RunInit(terminal string, program []string) (int, error) {
	stream, err := strconv.Atoi(terminal)
	if err != nil || len(program) == 0 {
		return 0, errNoProgram
	}
	socket, err := wire.MessageConnFromFile(os.NewFile(wire.SocketFD, "supervisor"))
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: stream}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case status.Stopped():
			_ = socket.Send(wire.SupervisorEvent{Stopped: true}, nil)
		case status.Signaled():
			return 128 + int(status.Signal()), nil
		default:
			return status.ExitStatus(), nil
		}
	}
}
