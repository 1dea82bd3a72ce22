package protect

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// gitIndex reads the paths of a git index. Git does not check the paths when it reads an index, so a checkout would
// write to any of them. The format is strict: an index that git could read in two ways is invalid.
type gitIndex struct {
	data     []byte
	hashSize int
	version  uint32
	starts   []int  // start of each entry
	full     []bool // version 4: the entry does not depend on the entry before it
}

// invalidIndex is the risk of an index that can't be read.
const invalidIndex = "an invalid index"

// findRiskyIndexPaths returns the paths of an index that a checkout writes into a git directory or out of the work tree.
func findRiskyIndexPaths(data []byte, hashSize int) (risky []string) {
	x := &gitIndex{data: data, hashSize: hashSize}
	ok := x.readEntries(func(name string, mode uint32) {
		if !isSafeIndexPath(name, mode) {
			risky = append(risky, name)
		}
	})
	if !ok {
		return []string{invalidIndex}
	}
	return risky
}

// isSafeIndexPath reports whether a path stays in the work tree and out of git directories. Sparse directories end with
// a slash. Entries of a split index can be empty.
func isSafeIndexPath(name string, mode uint32) bool {
	if name == "" {
		return true
	}
	if mode&0o170000 == 0o040000 {
		name = strings.TrimSuffix(name, "/")
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return part == "" || part == "." || part == ".." || strings.EqualFold(strings.TrimRight(part, " ."), GitDir)
	})
}

// uint32At returns the number at an offset, or false beyond the end.
func (x *gitIndex) uint32At(at int) (uint32, bool) {
	if at < 0 || at+4 > len(x.data) {
		return 0, false
	}
	return binary.BigEndian.Uint32(x.data[at:]), true
}

// readEntries calls visit for each entry. It reports whether the index is valid.
func (x *gitIndex) readEntries(visit func(name string, mode uint32)) bool {
	version, _ := x.uint32At(4)
	count, ok := x.uint32At(8)
	if !ok || !bytes.HasPrefix(x.data, []byte("DIRC")) || version < 2 || version > 4 {
		return false
	}
	x.version = version
	at, name := 12, ""
	for range count {
		start := at
		mode, _ := x.uint32At(start + 24)
		at += 40 + x.hashSize
		flags, ok := x.uint32At(at - 2) // its second half
		if !ok {
			return false
		}
		at += 2
		if flags&0x4000 != 0 {
			at += 2
		}
		kept := 0
		if version == 4 {
			strip, size := readIndexVarint(x.data[min(at, len(x.data)):])
			if size == 0 || strip > uint64(len(name)) && len(x.starts) > 0 {
				return false
			}
			at += size
			kept = max(0, len(name)-int(min(strip, uint64(len(name)))))
		}
		length := bytes.IndexByte(x.data[min(at, len(x.data)):], 0)
		if length < 0 || int(flags&0xfff) != min(kept+length, 0xfff) {
			return false
		}
		name = name[:kept] + string(x.data[at:at+length])
		visit(name, mode)
		x.starts, x.full = append(x.starts, start), append(x.full, kept == 0)
		if at += length + 1; version < 4 {
			at = start + (at-1-start+8)&^7
		}
	}
	return x.checkExtensions(at)
}

// checkExtensions reports whether the extensions begin at the end of the entries, and whether the parts that git reads in
// parallel are the entries.
func (x *gitIndex) checkExtensions(at int) bool {
	end := len(x.data) - x.hashSize
	if mark := end - 12 - x.hashSize; mark >= at && bytes.HasPrefix(x.data[mark:], []byte("EOIE")) {
		if start, _ := x.uint32At(mark + 8); int(start) != at {
			return false
		}
	}
	for at+8 <= end {
		size, _ := x.uint32At(at + 4)
		body := at + 8
		if int64(body)+int64(size) > int64(end) {
			return false
		}
		if bytes.HasPrefix(x.data[at:], []byte("IEOT")) && !x.hasParts(x.data[body:body+int(size)]) {
			return false
		}
		at = body + int(size)
	}
	return at == end
}

// hasParts reports whether a table lists consecutive parts of the entries.
func (x *gitIndex) hasParts(table []byte) bool {
	entry := 0
	for i := 4; i+8 <= len(table); i += 8 {
		start, count := binary.BigEndian.Uint32(table[i:]), int(binary.BigEndian.Uint32(table[i+4:]))
		if entry >= len(x.starts) || x.starts[entry] != int(start) || x.version == 4 && !x.full[entry] {
			return false
		}
		entry += count
	}
	return entry == len(x.starts)
}

// readIndexVarint reads a number of variable length as git's pack files encode offsets. size is 0 for an invalid one.
func readIndexVarint(data []byte) (n uint64, size int) {
	for i, b := range data[:min(len(data), 5)] {
		if n = n<<7 | uint64(b&0x7f); b&0x80 == 0 {
			return n, i + 1
		}
		n++
	}
	return 0, 0
}

// indexHashSize returns the size of object names in a git directory, or in the common directory of a linked work tree.
func indexHashSize(git string) int {
	if common, err := smallfile.Read(filepath.Join(git, "commondir"), maxJudged); err == nil {
		git = resolvePathInLine(git, string(common))
	}
	config, _ := smallfile.Read(filepath.Join(git, "config"), maxJudged)
	if found := hashLine().FindAllSubmatch(config, -1); len(found) > 0 && string(found[len(found)-1][1]) == "sha256" {
		return 32
	}
	return 20
}

// hasIndex reports whether a git directory or one of its linked work trees has an index. Its meaning depends on the
// repository's hash.
func hasIndex(git string) bool {
	return slices.ContainsFunc([]string{"*index*", "worktrees/*/*index*"}, func(pattern string) bool {
		found, _ := fs.Glob(os.DirFS(git), pattern)
		return len(found) > 0
	})
}
