package isolation

import (
	"fmt"
	"path/filepath"
	"strings"
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

// within says whether path is dir or lies below it. Both must be clean.
func within(path, dir string) bool {
	return path == dir || below(path, dir)
}

// below says whether path lies strictly below dir. Both must be clean.
func below(path, dir string) bool {
	if dir == string(filepath.Separator) {
		return path != dir
	}
	return strings.HasPrefix(path, dir+string(filepath.Separator))
}
