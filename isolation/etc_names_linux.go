package isolation

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// secretEtcPatterns has patterns of the files and directories of /etc that hold secrets; its first lines describe them.
//
//go:embed etc_secrets.txt
var secretEtcPatterns string

// secretNamesAndPaths returns the matchers of the names and of the paths in secretEtcPatterns.
var secretNamesAndPaths = sync.OnceValues(func() (names, paths *patternIndex) {
	names, paths = &patternIndex{exact: map[string]bool{}}, &patternIndex{exact: map[string]bool{}}
	for line := range strings.Lines(secretEtcPatterns) {
		_, patterns, _ := strings.Cut(line, ": ")
		for _, pattern := range strings.Fields(patterns) {
			if strings.HasPrefix(pattern, "/") {
				paths.addPattern(pattern)
			} else {
				names.addPattern(pattern)
			}
		}
	}
	return names, paths
})

// patternIndex matches text with patterns that have * at their ends only.
type patternIndex struct {
	exact                     map[string]bool
	starts, ends, containings []string
}

func (p *patternIndex) addPattern(pattern string) {
	text, anyStart := strings.CutPrefix(pattern, "*")
	text, anyEnd := strings.CutSuffix(text, "*")
	switch {
	case anyStart && anyEnd:
		p.containings = append(p.containings, text)
	case anyStart:
		p.ends = append(p.ends, text)
	case anyEnd:
		p.starts = append(p.starts, text)
	default:
		p.exact[text] = true
	}
}

func (p *patternIndex) matches(text string) bool {
	return p.exact[text] ||
		slices.ContainsFunc(p.starts, func(s string) bool { return strings.HasPrefix(text, s) }) ||
		slices.ContainsFunc(p.ends, func(s string) bool { return strings.HasSuffix(text, s) }) ||
		slices.ContainsFunc(p.containings, func(s string) bool { return strings.Contains(text, s) })
}

// isSecretName reports whether a path relative to /etc, or one of its parents, matches secretEtcPatterns.
func isSecretName(rel string) bool {
	names, paths := secretNamesAndPaths()
	at := "/" + strings.ToLower(rel)
	for end := 1; end <= len(at); end++ {
		if end < len(at) && at[end] != '/' {
			continue
		}
		dir := at[:end]
		if names.matches(filepath.Base(dir)) || paths.matches(dir) {
			return true
		}
	}
	return false
}

// isPublic reports whether every user may read a file, or list and enter a directory.
func isPublic(mode fs.FileMode) bool {
	return mode.IsDir() && mode&0o005 == 0o005 || mode.IsRegular() && mode&0o004 != 0
}

const (
	// maxEtcBytes limits the sum of the files copied.
	maxEtcBytes = 16 << 20
	// maxEtcEntries limits the files and directories listed.
	maxEtcEntries = 20000
)

// etcEntry is a file, directory or symlink in /etc that sandboxes see.
type etcEntry struct {
	rel  string      // below the directory listed
	info fs.FileInfo // nil for symlinks
}

// listPublicEntries lists the entries below a directory that every user may read, parents first. It omits secret names,
// and files that exceed maxEtcBytes in total.
func listPublicEntries(dir string) (entries []etcEntry, err error) {
	room := int64(maxEtcBytes)
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return ignoreMissingOrUnreadable(err)
		}
		entry := etcEntry{rel: name[len(dir)+1:]}
		public := !isSecretName(entry.rel)
		if public && d.Type() != fs.ModeSymlink { // a link that is replaced shows in its directory
			if entry.info, err = d.Info(); err != nil {
				return ignoreMissingOrUnreadable(err)
			}
			public = isPublic(entry.info.Mode())
		}
		if public && d.Type().IsRegular() {
			if public = entry.info.Size() <= room; public {
				room -= entry.info.Size()
			}
		}
		switch {
		case !public && d.IsDir():
			return fs.SkipDir
		case !public:
			return nil
		}
		if len(entries) == maxEtcEntries {
			return fmt.Errorf("%s contains more than %d files", dir, maxEtcEntries)
		}
		entries = append(entries, entry)
		return nil
	})
	return entries, err
}

// ignoreMissingOrUnreadable returns nil for errors about files that are missing or unreadable.
func ignoreMissingOrUnreadable(err error) error {
	if os.IsNotExist(err) || os.IsPermission(err) {
		return nil
	}
	return err
}

// stateIdentity returns text that changes with the entry.
func (e etcEntry) stateIdentity() string {
	if e.info == nil {
		return strconv.Quote(e.rel)
	}
	stat := e.info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%q %d:%d %o %d %d", e.rel, stat.Dev, stat.Ino, stat.Mode, stat.Size, e.info.ModTime().UnixNano())
}

// copyPublicEntry copies an entry of a directory into root, unless the path exists there.
func copyPublicEntry(root *os.Root, dir string, e etcEntry) error {
	if _, err := root.Lstat(e.rel); err == nil {
		return nil
	}
	from := filepath.Join(dir, e.rel)
	var err error
	switch {
	case e.info == nil:
		var to string
		if to, err = os.Readlink(from); err == nil {
			err = root.Symlink(to, e.rel)
		}
	case e.info.IsDir():
		err = root.Mkdir(e.rel, 0o755)
	default:
		var data []byte
		if data, err = os.ReadFile(from); err == nil {
			err = root.WriteFile(e.rel, data, 0o444|e.info.Mode()&0o111)
		}
	}
	return ignoreMissingOrUnreadable(err)
}

// isPublicEtcPath reports whether listPublicEntries(etc) would list a path, apart from its size limits.
func isPublicEtcPath(name string) bool {
	if !isStrictlyBelow(etc, name) || isSecretName(relativePath(etc, name)) {
		return false
	}
	for at := name; at != etc; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err != nil || !isPublic(info.Mode()) {
			return false
		}
	}
	return true
}

// publicEtcTrees returns the files and directories of /etc that a child may read. If this process can't list /etc, it
// returns /etc, since the child then can't read more than this process.
func publicEtcTrees() []string {
	if dir, err := os.Open(etc); err == nil {
		_ = dir.Close()
		trees, _ := publicTrees(etc)
		return trees
	}
	return []string{etc}
}

// publicTrees returns the largest directories below dir without secrets, the public files next to them, and whether
// all of dir is public. It omits symlinks, since Landlock rules apply to their targets.
func publicTrees(dir string) (trees []string, whole bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, false
	}
	whole = dir != etc
	for _, entry := range entries {
		name := dir + "/" + entry.Name()
		if entry.Type() == fs.ModeSymlink {
			continue
		}
		info, err := entry.Info()
		switch {
		case err != nil || !isPublic(info.Mode()) || isSecretName(name[len(etc)+1:]):
			whole = false
		case !entry.IsDir():
			trees = append(trees, name)
		default:
			below, all := publicTrees(name)
			if all {
				below = []string{name}
			}
			trees, whole = append(trees, below...), whole && all
		}
	}
	return trees, whole
}
