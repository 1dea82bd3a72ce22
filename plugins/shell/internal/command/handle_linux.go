package command

import (
	"os"
	"strconv"
)

// handlePath is a name for an open directory that means it and nothing else, whatever its own name has come to mean.
func handlePath(dir *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) }
