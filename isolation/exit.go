package isolation

import (
	"fmt"
	"os"
)

// Exit is how a process ended.
type Exit struct {
	// Code is the exit status, or 128 plus the signal's number for a process
	// that a signal ended, as shells have it. It is -1 if it is not known.
	Code int
	// Signal is the signal that ended the process, as far as it is known: a
	// sandbox reports only the code.
	Signal os.Signal
	// Exceeded says which of its limits the process was ended for; empty for
	// none.
	Exceeded string
}

// Success reports whether the process ended by itself with status 0.
func (e Exit) Success() bool { return e.Code == 0 && e.Signal == nil }

func (e Exit) String() string {
	if e.Signal != nil {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
