package paths

import (
	"os"
	"path/filepath"
)

// OpenRoot is like [os.OpenRoot], and fails for a FIFO instead of waiting for somebody to open its other end.
func OpenRoot(dir string) (*os.Root, error) {
	return os.OpenRoot(dir + string(filepath.Separator) + ".")
}
