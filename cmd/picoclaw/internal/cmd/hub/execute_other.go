//go:build !unix

package hub

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
)

// replaceProcess runs a program in place of this process (on Windows, as a child process) with the same exit code.
func replaceProcess(program string, args []string) error {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return &cli.ExitError{Code: exit.ExitCode(), Err: cli.ErrReported}
	}
	return cli.StartError(fmt.Errorf("execute %s: %w", program, err))
}
