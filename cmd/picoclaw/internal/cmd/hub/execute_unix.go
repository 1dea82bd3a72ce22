//go:build unix

package hub

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
)

// replaceProcess runs a program in place of this process (on Windows, as a child process) with the same exit code.
func replaceProcess(program string, args []string) error {
	err := unix.Exec(program, append([]string{program}, args...), os.Environ())
	return cli.StartError(fmt.Errorf("execute %s: %w", program, err))
}
