package main

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// pruned is what a search program is not to search. It is told of it as far as that can be told; of what it searches
// all the same, what it finds is not taken.
type pruned struct {
	mu    sync.Mutex
	dirs  []string
	files []string
	names map[string]bool
}

func (p *pruned) add(name string, dir bool) {
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

// has reports whether a file, or a directory that it is in, is one of them.
func (p *pruned) has(name string) bool {
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

// globBytes is how much is told, less than what the kernel takes for a command line.
const globBytes = 256 << 10

// globs tells ripgrep of them, directories first: most is spared by these.
func (p *pruned) globs() (globs []string) {
	size := 0
	for _, names := range [][]string{p.dirs, p.files} {
		for _, name := range names {
			if size += len(name) + 16; size > globBytes {
				return globs
			}
			if glob, ok := literalGlob(name); ok {
				globs = append(globs, "--glob=!/"+glob)
			}
		}
	}
	return globs
}

// literalGlob writes a name as a glob that means nothing else. There is none for a name that ends with a space, or that
// a command line in UTF-8 can't carry.
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
