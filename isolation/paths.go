package isolation

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// checkPath refuses what can't be a path of a sandbox.
func checkPath(path string) error {
	switch {
	case strings.ContainsRune(path, 0):
		return fmt.Errorf("%q holds a NUL byte", path)
	case !filepath.IsAbs(path):
		return fmt.Errorf("%q is not an absolute path", path)
	}
	return nil
}

// below reports whether path lies strictly below dir.
func below(dir, path string) bool { return path != dir && paths.Within(dir, path) }
