package paths

import (
	"os"
	"path/filepath"
)

// OpenRoot is [os.OpenRoot], but fails for a FIFO instead of waiting for a writer.
func OpenRoot(dir string) (*os.Root, error) {
	return os.OpenRoot(dir + string(filepath.Separator) + ".")
}
