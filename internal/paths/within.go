package paths

import (
	"path/filepath"
	"slices"
	"strings"
)

// Within reports whether path is dir or lies below it, component by component: /w2 is not within /w. On Windows the
// case of letters does not count.
func Within(dir, path string) bool {
	_, ok := Below(dir, path)
	return ok
}

// WithinAny reports whether path is one of dirs or lies below one of them.
func WithinAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return Within(dir, path) })
}

// Below returns the name that path has in dir, "." for dir itself, and reports whether it is [Within] dir.
func Below(dir, path string) (name string, ok bool) {
	if filepath.Separator == '/' && filepath.IsAbs(dir) && filepath.Clean(dir) == dir && filepath.Clean(path) == path {
		rest, ok := strings.CutPrefix(path, dir)
		switch {
		case !ok:
			return "", false
		case rest == "":
			return ".", true
		case dir == "/":
			return rest, true
		case rest[0] == '/':
			return rest[1:], true
		}
		return "", false
	}
	name, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(name) {
		return "", false
	}
	return name, true
}
