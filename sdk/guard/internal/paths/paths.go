// Package paths joins and cleans the many paths of one command without taking memory for each of them.
//
// It knows paths as text. It must not know what they name, or what a policy allows.
package paths

import (
	"path/filepath"
	"strings"
)

// block is how much memory is taken for several paths at once.
const block = 1 << 10

// Joiner makes paths of directories and names. The zero value is ready; it serves one goroutine at a time. The paths stay
// what they are, whatever it makes later.
type Joiner struct{ text strings.Builder }

// Below is dir/name, as the two stand.
func (j *Joiner) Below(dir, name string) string {
	n := len(dir) + 1 + len(name)
	if j.text.Cap()-j.text.Len() < n {
		j.text = strings.Builder{}
		j.text.Grow(max(n, block))
	}
	start := j.text.Len()
	j.text.WriteString(dir)
	j.text.WriteByte(filepath.Separator)
	j.text.WriteString(name)
	return j.text.String()[start:]
}

// Join is [filepath.Join] of a directory and a name.
func (j *Joiner) Join(dir, name string) string {
	switch {
	case len(dir) < 2 || dir[0] != '/' || !Clean(dir[1:]):
	case name == "..":
		return dir[:max(1, strings.LastIndexByte(dir, '/'))]
	case Clean(name):
		return j.Below(dir, name)
	}
	return filepath.Join(dir, name)
}

// Clean says whether a relative path is certainly as [filepath.Clean] would have it.
func Clean(path string) bool {
	if filepath.Separator != '/' {
		return false
	}
	before := byte('/')
	for i := range len(path) {
		if before == '/' && (path[i] == '/' || path[i] == '.') {
			return false
		}
		before = path[i]
	}
	return before != '/'
}

// Cleaned is [filepath.Clean] of a path, for one that mostly is as that would have it.
func Cleaned(path string) string {
	if len(path) > 1 && path[0] == '/' && Clean(path[1:]) {
		return path
	}
	return filepath.Clean(path)
}
