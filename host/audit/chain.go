package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
)

// Every line ends with the member "chain": the SHA-256, in hex, of the chain of the line before and this line without
// its own. So no line can be changed, left out, put in or moved without all that follow being written anew, and whoever
// has noted one chain elsewhere can tell. The first line of a file says besides, in "follows", what chain it goes on
// from, in "begins" that of the very first line of all, and in "count" how many lines were before it: the files before
// it may be gone.

// chain is that of one line: 64 characters of hex. The first line's follows from none, which is empty.
type chain string

const (
	chainBegins = `,"chain":"`
	chainEnds   = `"}`
	chainLength = 2 * sha256.Size
	chainMember = len(chainBegins) + chainLength + len(chainEnds)
)

// next returns the chain of a record behind a line with this one. The record is a JSON object.
func (c chain) next(record []byte) chain {
	sum := sha256.Sum256(append(append(make([]byte, 0, len(c)+len(record)), c...), record...))
	return chain(hex.AppendEncode(make([]byte, 0, chainLength), sum[:]))
}

// before returns the record of a file's first line, which says that this chain, at this position, is before it.
func (c chain) before(record []byte, at position) []byte {
	if c == "" {
		return record
	}
	members := `,"follows":"` + string(c) + `"`
	if at.count > 0 {
		members += fmt.Sprintf(`,"begins":"%s","count":%d`, at.begins, at.count)
	}
	return append(record[:len(record)-1:len(record)-1], members+"}"...)
}

// line returns the line of a record with its chain.
func (c chain) line(record []byte) []byte {
	line := make([]byte, 0, len(record)+chainMember)
	line = append(append(line, record[:len(record)-1]...), chainBegins...)
	return append(append(append(line, c...), chainEnds...), '\n')
}

// unchain splits the end of a line, without its line feed, into what is of the record and its chain; ok is false if it
// has none.
func unchain(line []byte) (record []byte, c chain, ok bool) {
	at := len(line) - chainMember
	if at < 1 || !bytes.HasPrefix(line[at:], []byte(chainBegins)) || !bytes.HasSuffix(line, []byte(chainEnds)) {
		return nil, "", false
	}
	c = chain(line[at+len(chainBegins) : len(line)-len(chainEnds)])
	if _, err := hex.DecodeString(string(c)); err != nil {
		return nil, "", false
	}
	return append(bytes.Clone(line[:at]), '}'), c, true
}

// lookBack is how much of a file's end is looked through for a line with a chain, if the last has none: a power failure
// may have cut it.
const lookBack = 64 << 10

// lastChain returns the chain that the next line of a file follows: that of the last line that has one. It is empty if
// there is none.
func lastChain(f *os.File, end int64) (chain, error) {
	for _, size := range []int64{int64(chainMember) + 2, lookBack} { // the first is enough for a line with something in it
		tail := make([]byte, min(size, end))
		if _, err := f.ReadAt(tail, end-int64(len(tail))); err != nil {
			return "", err
		}
		for len(tail) > 0 {
			tail = bytes.TrimSuffix(tail, []byte{'\n'})
			at := bytes.LastIndexByte(tail, '\n') + 1
			if _, c, ok := unchain(tail[at:]); ok {
				return c, nil
			}
			tail = tail[:at]
		}
	}
	return "", nil
}

// chainBefore makes l.last the chain that the first line of a new file follows: that of the last file that was put
// aside.
func (l *Log) chainBefore() error {
	l.last, l.before = "", position{}
	files, err := aside(l.path)
	if err != nil || len(files) == 0 {
		return err
	}
	f, err := os.Open(files[len(files)-1])
	if err != nil {
		return nil // calls go on; who verifies the log is told that it does not follow
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if l.before, err = positionAt(f, info.Size()); err != nil {
		return err
	}
	l.last, err = lastChain(f, info.Size())
	return err
}

// gone reports whether somebody has taken the file at hand away, other than by putting it aside as picoclaw does.
// l.last is then that of its last line: the chain goes on from there, so that it shows.
func (l *Log) gone() bool {
	ours, err := l.file.Stat()
	if err != nil || !ours.Mode().IsRegular() {
		return false
	}
	files, err := aside(l.path)
	if err != nil {
		return false
	}
	for _, path := range files {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, ours) {
			return false
		}
	}
	last, err := lastChain(l.file, ours.Size())
	if err != nil {
		return false
	}
	before, err := positionAt(l.file, ours.Size())
	if err != nil {
		return false
	}
	l.last, l.before = last, before
	return true
}

// catchUp makes l.last the chain of the last line: others may have written since. The caller holds the lock on the
// directory, and has just followed.
func (l *Log) catchUp() (err error) {
	switch {
	case l.lastEnd == l.end:
		return nil
	case !l.regular: // a device, which can't be read again
		l.lastEnd = l.end
		return nil
	case l.end == 0:
		err = l.chainBefore()
	default:
		l.last, err = lastChain(l.file, l.end)
	}
	if err == nil {
		l.lastEnd = l.end
	}
	return err
}
