package main

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// excludedPaths are paths that a search program skips, by globs in its arguments. Its results in paths without a glob
// are dropped.
type excludedPaths struct {
	mu    sync.Mutex
	dirs  []string
	files []string
	names map[string]bool
}

func (p *excludedPaths) addPath(name string, dir bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.names == nil {
		p.names = map[string]bool{}
	}
	p.names[name] = true
	if dir {
		p.dirs = append(p.dirs, name)
	} else {
		p.files = append(p.files, name)
	}
}

// excludes reports whether a file or a directory above it is excluded.
func (p *excludedPaths) excludes(name string) bool {
	if len(p.names) == 0 {
		return false
	}
	for end := 0; end < len(name); end++ {
		if name[end] == '/' && p.names[name[:end]] {
			return true
		}
	}
	return p.names[name]
}

// maxGlobBytes limits the globs in the arguments of one process.
const maxGlobBytes = 256 << 10

// ripgrepGlobs returns globs for ripgrep that exclude the paths, directories first.
func (p *excludedPaths) ripgrepGlobs() (globs []string) {
	size := 0
	for _, names := range [][]string{p.dirs, p.files} {
		for _, name := range names {
			if size += len(name) + 16; size > maxGlobBytes {
				return globs
			}
			if glob, ok := literalGlob(name); ok {
				globs = append(globs, "--glob=!/"+glob)
			}
		}
	}
	return globs
}

// literalGlob returns a glob that matches only a name. ok is false for names that end with a space or are not UTF-8.
func literalGlob(name string) (string, bool) {
	last, _ := utf8.DecodeLastRuneInString(name)
	if !utf8.ValidString(name) || unicode.IsSpace(last) {
		return "", false
	}
	var b strings.Builder
	for i := range len(name) {
		if strings.IndexByte(`*?[]{}\!`, name[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	return b.String(), true
}
