package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Every line ends with the member "chain": the SHA-256, in hex, of the previous line's chain and this line without its
// own. To change, remove, insert or move a line, all later lines must be rewritten, which a chain hash noted elsewhere
// reveals. The first line of a file also has "follows", the last chain hash of the previous file, "begins", the hash of
// the log's first line, and "count", the number of lines before it, since older files may be deleted.

// chainHash is a hash of one line and all lines before it, in hex. It is empty before the first line.
type chainHash string

const (
	chainPrefix       = `,"chain":"`
	chainSuffix       = `"}`
	chainLength       = 2 * sha256.Size
	chainMemberLength = len(chainPrefix) + chainLength + len(chainSuffix)
)

// nextHash returns the hash of a record that follows the line with this hash. The record is a JSON object.
func (c chainHash) nextHash(record []byte) chainHash {
	sum := sha256.Sum256(append(append(make([]byte, 0, len(c)+len(record)), c...), record...))
	return chainHash(hex.AppendEncode(make([]byte, 0, chainLength), sum[:]))
}

// linkFirstRecord adds to the first record of a new file the hash c, which ends the previous file, and the chain
// position at that end.
func (c chainHash) linkFirstRecord(record []byte, at chainPosition) []byte {
	if c == "" {
		return record
	}
	members := `,"follows":"` + string(c) + `"`
	if at.count > 0 {
		members += fmt.Sprintf(`,"begins":"%s","count":%d`, at.first, at.count)
	}
	return append(record[:len(record)-1:len(record)-1], members+"}"...)
}

// formatLine returns the line that contains a record and its hash.
func (c chainHash) formatLine(record []byte) []byte {
	line := make([]byte, 0, len(record)+chainMemberLength)
	line = append(append(line, record[:len(record)-1]...), chainPrefix...)
	return append(append(append(line, c...), chainSuffix...), '\n')
}

// splitChainedLine splits a line, without its line feed, into record and hash. ok is false if the line has no hash.
func splitChainedLine(line []byte) (record []byte, c chainHash, ok bool) {
	at := len(line) - chainMemberLength
	if at < 1 || !bytes.HasPrefix(line[at:], []byte(chainPrefix)) || !bytes.HasSuffix(line, []byte(chainSuffix)) {
		return nil, "", false
	}
	c = chainHash(line[at+len(chainPrefix) : len(line)-len(chainSuffix)])
	if _, err := hex.DecodeString(string(c)); err != nil {
		return nil, "", false
	}
	return append(bytes.Clone(line[:at]), '}'), c, true
}

// maxTail limits the part of a file's end in which a line with a hash is searched. After a power failure the last line
// may have no hash.
const maxTail = 64 << 10

// lastChainHash returns the hash of the last line of a file that has a hash; empty if no line has one.
func lastChainHash(f *os.File, end int64) (chainHash, error) {
	for _, size := range []int64{int64(chainMemberLength) + 2, maxTail} { // the first is enough unless the last line is damaged
		tail := make([]byte, min(size, end))
		if _, err := f.ReadAt(tail, end-int64(len(tail))); err != nil {
			return "", err
		}
		for len(tail) > 0 {
			tail = bytes.TrimSuffix(tail, []byte{'\n'})
			at := bytes.LastIndexByte(tail, '\n') + 1
			if _, c, ok := splitChainedLine(tail[at:]); ok {
				return c, nil
			}
			tail = tail[:at]
		}
	}
	return "", nil
}

// loadPreviousFileHash sets l.last for a new file: to the last hash of the newest rotated file.
func (l *Log) loadPreviousFileHash() error {
	l.last, l.before = "", chainPosition{}
	files, err := rotatedFilePaths(l.path)
	if err != nil || len(files) == 0 {
		return err
	}
	f, info, err := openRegularFile(files[len(files)-1], os.O_RDONLY)
	if err != nil {
		return nil //nolint:nilerr // calls continue; verification reports the gap
	}
	defer func() { _ = f.Close() }()
	if l.before, err = chainPositionAt(f, info.Size()); err != nil {
		return err
	}
	l.last, err = lastChainHash(f, info.Size())
	return err
}

// loadRemovedFileHash sets l.last to the open file's last hash and returns true if the file was removed, not rotated.
// The new file then continues the chain, so the gap is detected.
func (l *Log) loadRemovedFileHash() bool {
	ours, err := l.file.Stat()
	if err != nil {
		return false
	}
	files, err := rotatedFilePaths(l.path)
	if err != nil {
		return false
	}
	for _, path := range files {
		if info, statErr := os.Stat(path); statErr == nil && os.SameFile(info, ours) {
			return false
		}
	}
	last, err := lastChainHash(l.file, ours.Size())
	if err != nil {
		return false
	}
	before, err := chainPositionAt(l.file, ours.Size())
	if err != nil {
		return false
	}
	l.last, l.before = last, before
	return true
}

// loadLastHash sets l.last to the hash of the last line, which another process may have written. The caller holds the
// directory lock and has called openCurrentFile.
func (l *Log) loadLastHash() (err error) {
	switch {
	case l.lastEnd == l.end:
		return nil
	case l.end == 0:
		if err = checkCurrentFileNotLost(l.path); err == nil {
			err = l.loadPreviousFileHash()
		}
	default:
		if err = checkHasEntry(l.file, l.end); err == nil {
			l.last, err = lastChainHash(l.file, l.end)
		}
	}
	if err == nil {
		l.lastEnd = l.end
	}
	return err
}

// chainPosition is a position in a hash chain, which may span several files.
type chainPosition struct {
	first chainHash // hash of the chain's first line, which identifies the chain
	count int       // lines up to here
	head  chainHash // hash of the last line

	inFile bool // a line of the current file is included
}

// previousFileLink is the part of a file's first line that links it to the previous file.
type previousFileLink struct {
	Follows chainHash `json:"follows"`
	Begins  chainHash `json:"begins"`
	Count   int       `json:"count"`
}

// addLine advances the position by a line. A first line without a link to a previous file begins a new chain.
func (p *chainPosition) addLine(c chainHash, read func() previousFileLink) {
	if !p.inFile {
		*p = chainPosition{first: c, inFile: true}
		if o := read(); o.Follows != "" && o.Begins != "" && o.Count > 0 {
			p.first, p.count = o.Begins, o.Count
		}
	}
	p.count++
	p.head = c
}

// addFileLines advances the position by the lines of a file, and returns the size of the complete lines.
func (p *chainPosition) addFileLines(f io.Reader) (size int64, err error) {
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
		size += int64(len(line))
		if record, c, ok := splitChainedLine(bytes.TrimSuffix(line, []byte{'\n'})); ok {
			p.addLine(c, func() (o previousFileLink) {
				_ = json.Unmarshal(record, &o) // no header begins a chain
				return o
			})
		}
	}
}

func chainPositionAt(f io.ReaderAt, end int64) (p chainPosition, err error) {
	_, err = p.addFileLines(io.NewSectionReader(f, 0, end))
	return p, err
}
