package workspace

import (
	"fmt"
	"io/fs"
)

// Foreign is the error for a file that belongs to somebody else, and would belong to this process's user after the change: he can
// neither give it away nor write to it as it is.
type Foreign struct {
	Path string
	Err  error // why it can't be written in place
}

func (e *Foreign) Error() string {
	return fmt.Sprintf("%s belongs to another user or group, which a change by this process can't keep: %v", e.Path, e.Err)
}

// Unwrap makes it an [fs.ErrPermission].
func (e *Foreign) Unwrap() error { return fs.ErrPermission }

// errForeign says that what is to take the place of a file can't be given to the file's owner.
var errForeign = fmt.Errorf("the owner can't be kept: %w", fs.ErrPermission)
