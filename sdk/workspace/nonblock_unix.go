//go:build unix

package workspace

import "syscall"

// nonblock makes opening a FIFO return at once. Regular files and directories do not block in this sense; there it only
// spares what os does to find that out.
const nonblock = syscall.O_NONBLOCK
