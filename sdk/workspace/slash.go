package workspace

import (
	"os"
	"strings"
)

// DirectoryName is the error for a file's path that ends as only a directory's does.
type DirectoryName struct{ Path string }

func (e *DirectoryName) Error() string {
	return e.Path + " ends in a slash, so it names a directory and not a file"
}

// endsInSlash reports whether a path can name a directory only. Made absolute it would not show that any more.
func endsInSlash(path string) bool {
	path = strings.TrimSuffix(path, ".")
	return path != "" && os.IsPathSeparator(path[len(path)-1])
}
