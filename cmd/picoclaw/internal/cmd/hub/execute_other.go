//go:build !unix

package hub

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
)

// execute runs a program with the streams of this process, and ends as it does.
func execute(program string, args []string) error {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return &cli.Error{Code: exit.ExitCode(), Err: cli.ErrReported}
	}
	return cli.CannotStart(fmt.Errorf("execute %s: %w", program, err))
}
