package supervisor

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/picoclaw/picoclaw/host/run/internal/wire"
)

// Init starts a program as the foreground job of its terminal and waits for it. The program is not the leader of the
// session, so it can be stopped and continued as below a shell. terminal is the stream that leads to the terminal. It
// returns the exit code.
func Init(terminal string, program []string) (int, error) {
	stream, err := strconv.Atoi(terminal)
	if err != nil || len(program) == 0 {
		return 0, errNoProgram
	}
	socket, err := wire.FromFile(os.NewFile(wire.SocketFD, "supervisor"))
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
			_ = socket.Send(wire.Event{Stopped: true}, nil)
		case status.Signaled():
			return 128 + int(status.Signal()), nil
		default:
			return status.ExitStatus(), nil
		}
	}
}
