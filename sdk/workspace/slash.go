package workspace

import (
	"os"
	"strings"
)

// endsInSlash reports whether a path can name a directory only. Made absolute it would not show that any more.
func endsInSlash(path string) bool {
	path = strings.TrimSuffix(path, ".")
	return path != "" && os.IsPathSeparator(path[len(path)-1])
}
