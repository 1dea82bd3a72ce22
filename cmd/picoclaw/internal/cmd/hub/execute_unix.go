//go:build unix

package hub

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
)

// executeProgram replaces this process with a program, or runs it and returns its exit code.
func executeProgram(program string, args []string) error {
	err := unix.Exec(program, append([]string{program}, args...), os.Environ())
	return cli.StartError(fmt.Errorf("execute %s: %w", program, err))
}
