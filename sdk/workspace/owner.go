package workspace

import (
	"fmt"
	"io/fs"
)

// errForeign says that what is to take the place of a file can't be given to the file's owner.
var errForeign = fmt.Errorf("the owner can't be kept: %w", fs.ErrPermission)
