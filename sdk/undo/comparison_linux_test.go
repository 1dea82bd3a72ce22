package undo_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// comparison checks the contract of undo: each path that the user did not touch is as before the operation, or named;
// each path that the user touched is as the user left it.
type comparison struct {
	*world

	before, after, left, now map[string]string // before the operation, after it, before the undo, after it
	beforeDirs, nowDirs      map[string]string // identities of directories
	leftDirs                 map[string]string
	during                   map[string]string // paths as the user left them during the operation
	conflicts                []undo.PathConflict
	lostMetadata             []string
	undone                   bool // a path at least: an undo of conflicts alone does not set the times of directories
}

func (c *comparison) wrong() (all []string) {
	paths := slices.Concat(slices.Collect(maps.Keys(c.before)), slices.Collect(maps.Keys(c.left)), slices.Collect(maps.Keys(c.now)))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		want, touched := c.users[path]
		if !touched {
			want = c.before[path]
		}
		// The agent may have changed the path after the user: what the user left then has to be restored or named.
		spared := touched && c.same(path, c.left[path], want) && c.leftDirs[filepath.Clean("/"+path)] == c.usersDirs[path] && !c.isUntouchedFile(path)
		if !c.same(path, c.now[path], want) && (spared || !c.isNamed(path)) && !c.isMoved(path) && !c.isNeeded(path, want) && !c.isFreed(path) {
			all = append(all, fmt.Sprintf("%q: touched by the user %t, spared %t: before %s, left %s, want %s, now %s",
				path, touched, spared, c.before[path], c.left[path], want, c.now[path]))
		}
	}
	return all
}

// same reports whether two descriptions of a path are the same. What they say of other paths differs if these stay as
// they are now, since the user touched them or undo named them: the names in a directory set its time, and those of a
// file are counted. A directory whose mode the user set keeps the time that it had then: one event tells of both.
func (c *comparison) same(path, a, b string) bool {
	switch {
	case a == b:
		return true
	case strings.HasPrefix(a, "d") && strings.HasPrefix(b, "d"):
		modeA, timeA, _ := strings.Cut(a, " ")
		modeB, timeB, _ := strings.Cut(b, " ")
		set, ok := c.dirs[c.nowDirs[filepath.Clean("/"+path)]]
		if !ok { // deleted and made again
			set, ok = c.dirs[c.beforeDirs[filepath.Clean("/"+path)]]
		}
		if !ok { // the user made it
			set = c.dirs[c.usersDirs[path]]
		}
		return (modeA == modeB || set.mode.String() == modeA) && (timeA == timeB || !c.undone || slices.Contains(set.times, timeA) ||
			set.modified == 0 && slices.Contains(set.times, timeB) || c.stays(func(other string) bool { return filepath.Dir(other) == filepath.Clean("/"+path) }) || c.isChangedDir(path))
	}
	isOther := func(other string) bool { return c.isSameFile(path, other, c.before, c.after, c.left, c.now, c.users) }
	for other := range c.now {
		if other != path && isOther(other) && c.isNamed(other) {
			return withoutLinks(a) == withoutLinks(b)
		}
	}
	return withoutLinks(a) == withoutLinks(b) && c.stays(isOther)
}

// isSameFile reports whether two paths are names of one file in some description, or both of them with a third path.
func (c *comparison) isSameFile(a, b string, descriptions ...map[string]string) bool {
	known := map[string]bool{a: true}
	for queue := []string{a}; len(queue) > 0; queue = queue[1:] {
		for _, all := range descriptions {
			group := linkGroup(all[queue[0]])
			for path, text := range all {
				if group != "" && linkGroup(text) == group && !known[path] {
					known[path] = true
					queue = append(queue, path)
				}
			}
		}
	}
	return known[b]
}

// isUntouchedFile reports whether a path is a name of a file that has another name, which the user did not touch.
func (c *comparison) isUntouchedFile(path string) bool {
	for other := range c.left {
		if _, touched := c.users[other]; !touched && other != path && c.isSameFile(path, other, c.left) {
			return true
		}
	}
	return false
}

// isChangedDir reports whether the user touched something in a directory, wherever it was.
func (c *comparison) isChangedDir(path string) bool {
	for at := range c.places {
		if at.dir != "" && (at.dir == c.nowDirs[filepath.Clean("/"+path)] || at.dir == c.beforeDirs[filepath.Clean("/"+path)]) {
			return true
		}
	}
	return false
}

// stays reports whether the user touched a path that a function accepts, or undo named it.
func (c *comparison) stays(accept func(path string) bool) bool {
	return c.touches(accept) || c.isConflict(accept)
}

// isConflict reports whether undo named a path that a function accepts.
func (c *comparison) isConflict(accept func(path string) bool) bool {
	return slices.ContainsFunc(c.conflicts, func(conflict undo.PathConflict) bool {
		return accept(strings.TrimPrefix(conflict.Path, c.dir))
	})
}

// touches reports whether the user touched a path that a function accepts.
func (c *comparison) touches(accept func(path string) bool) bool {
	for path := range c.touched {
		if accept(strings.TrimPrefix(path, c.dir)) {
			return true
		}
	}
	return false
}

// isMoved reports whether a path is as it has to be in a directory that has another path than before: the user moved it,
// or changed something in it while the operation had moved it.
func (c *comparison) isMoved(path string) bool {
	dir, name := filepath.Dir("/"+path), filepath.Base(path)
	id, from, to := c.nowDirs[dir], c.beforeDirs, c.before
	if c.now[path] == "" {
		id, from, to = c.beforeDirs[dir], c.nowDirs, c.now
	}
	for _, id := range []string{id, c.beforeDirs[dir]} { // a directory that was deleted is made again
		if text, ok := c.places[place{id, name}]; ok && withoutLinks(text) == withoutLinks(c.now[path]) {
			return true
		}
	}
	if c.isInRecreatedDir(path) {
		return true
	}
	for _, rename := range c.renames {
		rest, below := strings.CutPrefix(path, rename[1]+"/")
		if below && withoutLinks(c.now[path]) == withoutLinks(c.before[rename[0]+"/"+rest]) {
			return true
		}
		// The operation deleted the directory after the user moved it, and undo made it again.
		if rest, below = strings.CutPrefix(path, rename[0]+"/"); below && c.now[path] == "" && withoutLinks(c.now[rename[1]+"/"+rest]) == withoutLinks(c.before[path]) {
			return true
		}
		if path == rename[1] && strings.HasPrefix(c.now[path], "d") && c.now[path] == c.before[rename[0]] { // its time too
			return true
		}
	}
	for other, is := range from {
		if id != "" && is == id && other != dir {
			at := filepath.Join(other, name)
			return withoutLinks(to[at]) == withoutLinks(c.now[path]) || withoutLinks(to[at]) == withoutLinks(c.before[path])
		}
	}
	return false
}

// isInRecreatedDir reports whether a path is as the user left it in a directory that the operation had moved and then
// deleted, and that undo made again at its former path.
func (c *comparison) isInRecreatedDir(path string) bool {
	for other, text := range c.users {
		if text != "" && other != path && filepath.Base(other) == filepath.Base(path) && filepath.Base(filepath.Dir(other)) == filepath.Base(filepath.Dir(path)) &&
			withoutLinks(text) == withoutLinks(c.now[path]) && c.left[other] == "" {
			return true
		}
	}
	return false
}

// isNeeded reports whether a path is a directory of the operation's that holds something of the user's, or a conflict.
func (c *comparison) isNeeded(path, want string) bool {
	isBelow := func(other string) bool { return strings.HasPrefix(other, path+"/") }
	for other := range c.now {
		if want == "" && isBelow(other) && (c.isInRecreatedDir(other) || c.isMoved(other)) {
			return true
		}
	}
	return want == "" && strings.HasPrefix(c.now[path], "d") && (c.isConflict(isBelow) ||
		c.touches(func(other string) bool { return isBelow(other) && c.now[other] != "" && c.users[other] != "" }))
}

// isFreed reports whether a path has its former object, and the user removed another one that they had put there while
// the operation ran.
func (c *comparison) isFreed(path string) bool {
	return c.during[path] != "" && c.left[path] == "" && withoutLinks(c.now[path]) == withoutLinks(c.before[path])
}

// isNamed reports whether undo named a path as a conflict, or a directory above it. A path is also named if the
// operation named it as not covered, or undo named lost metadata.
func (c *comparison) isNamed(path string) bool {
	if slices.ContainsFunc(slices.Concat(c.lost, c.lostMetadata), func(text string) bool {
		return strings.HasPrefix(text, hiddentext.QuoteUnprintable(c.dir+path)+" (")
	}) {
		return true
	}
	return c.isConflict(func(named string) bool {
		for _, rename := range c.renames { // it is named where it was before the user moved it, or where it would be now
			for _, way := range [][2]string{rename, {rename[1], rename[0]}} {
				if rest, moved := strings.CutPrefix(named, way[0]); moved && way[1]+rest == path {
					return true
				}
			}
		}
		return named == path || strings.HasPrefix(path, named+"/")
	})
}

// linkGroup returns the first name of a file in a description, empty for other objects.
func linkGroup(text string) string {
	_, names, _ := strings.Cut(text, " links with ")
	if at := strings.LastIndex(names, " "); at >= 0 {
		return names[:at]
	}
	return ""
}

// withoutLinks drops the names that a file has from its description.
func withoutLinks(text string) string {
	before, rest, ok := strings.Cut(text, "\" ")
	if !ok {
		return text
	}
	return before + rest[strings.LastIndex(rest, " "):]
}
