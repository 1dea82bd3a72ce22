package undo

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// An archive has these members in a directory named after the operation id. op.json comes first. Journal members and
// kept contents follow while the operation runs. Its end writes record.json and a second op.json. The second op.json
// has a fixed size, so history reads it from the end of the archive, and a checksum of everything before it. Each
// op.json ends with a checksum of itself.
const (
	operationMember = "op.json"
	journalMember   = "journal"
	recordMember    = "record.json"
	contentFolder   = "before"

	blockSize   = 512
	trailerSize = 8 * blockSize
)

// archiveWriter writes the archive of one operation.
type archiveWriter struct {
	id       string
	file     *os.File
	buffer   *bufio.Writer
	tar      *tar.Writer
	written  int64
	checksum uint32
	contents int
	reserved int64 // end of the allocated space
}

// endReserve is the space that an archive always has left for its record, for each object and entry, and at least.
const endReserve, minEndReserve = 1 << 10, 64 << 10

// addToChecksum adds bytes to the checksum of an archive. It detects damage, not forgery.
func addToChecksum(sum uint32, data []byte) uint32 {
	return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), data)
}

// archiveTrailer is the op.json at an archive's end.
type archiveTrailer struct {
	Operation

	Checksum string `json:"checksum"` // of the bytes before the trailer, in hexadecimal
}

// createArchive creates the archive file of an operation and writes op.json into it.
func (s *Store) createArchive(op *Operation) (*archiveWriter, error) {
	f, err := os.OpenFile(s.archivePath(op.ID), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	a := &archiveWriter{id: op.ID, file: f}
	a.buffer = bufio.NewWriterSize(a, 32<<10)
	a.tar = tar.NewWriter(a.buffer)
	data, err := json.Marshal(op)
	if err == nil {
		err = a.writeMember(operationMember, appendChecksum(data))
	}
	if err != nil {
		a.deleteFile()
		return nil, err
	}
	return a, nil
}

func (a *archiveWriter) Write(p []byte) (int, error) {
	n, err := a.file.Write(p)
	a.written += int64(n)
	a.checksum = addToChecksum(a.checksum, p[:n])
	return n, err
}

// reserveSpace allocates space for a member, and for the record of a number of objects and entries after it.
func (a *archiveWriter) reserveSpace(size int64, records int) error {
	end := a.written + size + 2*blockSize + max(endReserve*int64(records), minEndReserve)
	if end <= a.reserved {
		return nil
	}
	more := end + max(minEndReserve, a.written/2)
	if allocateSpace(a.file, more) == nil {
		a.reserved = more
		return nil
	}
	err := allocateSpace(a.file, end)
	if err == nil {
		a.reserved = end
	}
	return err
}

func (a *archiveWriter) writeMember(name string, data []byte) error {
	return a.writeMemberFrom(name, int64(len(data)), bytes.NewReader(data))
}

// writeMemberFrom writes a member, or none of it if the disk is full.
func (a *archiveWriter) writeMemberFrom(name string, size int64, contents io.Reader) error {
	begin, sum := a.written, a.checksum
	err := a.tar.WriteHeader(&tar.Header{Name: a.id + "/" + name, Typeflag: tar.TypeReg, Mode: 0o600, Size: size})
	if err == nil {
		_, err = io.CopyN(a.tar, io.MultiReader(contents, zeroReader{}), size) // it may be truncated meanwhile
	}
	if err == nil {
		err = errors.Join(a.tar.Flush(), a.buffer.Flush())
	}
	if err != nil {
		a.buffer.Reset(a)
		a.tar, a.written, a.checksum = tar.NewWriter(a.buffer), begin, sum
		err = errors.Join(err, a.file.Truncate(begin))
	}
	return err
}

// writeContents adds the former contents of a file as a member and returns the number of that member.
func (a *archiveWriter) writeContents(name string, size int64, contents io.Reader) (number int, err error) {
	number = a.contents + 1
	if err = a.writeMemberFrom(path.Join(contentFolder, strconv.Itoa(number), name), size, contents); err != nil {
		return 0, err
	}
	a.contents = number
	return number, nil
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// finishArchive writes the complete record and the trailer, then closes the file.
func (a *archiveWriter) finishArchive(r *operationRecord) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err = a.writeMember(recordMember, data); err != nil {
		return err
	}
	trailer, err := marshalTrailer(archiveTrailer{r.Operation, formatChecksum(a.checksum)})
	if err != nil {
		return err
	}
	if err = a.writeMember(operationMember, trailer); err != nil {
		return err
	}
	return errors.Join(a.file.Truncate(a.written), a.file.Close()) // the allocated rest is free again
}

func formatChecksum(sum uint32) string { return fmt.Sprintf("%08x", sum) }

// checksumSize is the length of a formatted checksum.
const checksumSize = 8

// appendChecksum appends the checksum of data to data.
func appendChecksum(data []byte) []byte {
	return append(data, formatChecksum(addToChecksum(0, data))...)
}

// hasValidChecksum reports whether data ends with its checksum. The op.json of an earlier release has none: it ends
// with spaces, or with the JSON.
func hasValidChecksum(data []byte) bool {
	end := max(len(data)-checksumSize, 0)
	return bytes.HasSuffix(data, []byte("}")) || bytes.Equal(data[end:], bytes.Repeat([]byte(" "), checksumSize)) ||
		bytes.Equal(appendChecksum(slices.Clone(data[:end])), data)
}

// minSummary is the length in bytes to which texts in a trailer are cut.
const minSummary = 256

// marshalTrailer returns a trailer as JSON, padded to the fixed size. If the JSON is too long, it drops names of changed
// paths first, then the end of the summary, and last the names of changes that undo does not restore.
func marshalTrailer(short archiveTrailer) ([]byte, error) {
	isLong := func(text string) bool { return len(text) > minSummary+len("…") }
	for {
		data, err := json.Marshal(short)
		if err != nil {
			return nil, err
		}
		if free := trailerSize - blockSize - checksumSize - len(data); free >= 0 {
			return appendChecksum(append(data, bytes.Repeat([]byte{' '}, free)...)), nil
		}
		changes := cmp.Or(short.Changes, &ChangeSummary{})
		switch lost := len(short.Lost); {
		case len(changes.Names) > 0:
			fewer := *changes
			fewer.Names = changes.Names[:len(changes.Names)-1]
			short.Changes = &fewer
		case len(short.Summary) > minSummary:
			short.Summary = strings.ToValidUTF8(short.Summary[:max(minSummary, len(short.Summary)/2)], "")
		case len(changes.RunByTools) > 0:
			fewer := *changes
			fewer.RunByTools = changes.RunByTools[:len(changes.RunByTools)-1]
			short.Changes = &fewer
		case slices.ContainsFunc(short.Lost, isLong):
			short.Lost = slices.Clone(short.Lost)
			i := slices.IndexFunc(short.Lost, isLong)
			short.Lost[i] = strings.ToValidUTF8(short.Lost[i][:minSummary], "") + "…"
		case lost > 1:
			short.Lost = append(slices.Clone(short.Lost[:lost-2]), moreLost)
		case isLong(short.Missing):
			short.Missing = strings.ToValidUTF8(short.Missing[:minSummary], "") + "…"
		default:
			return nil, errors.New("the operation is too long for the undo store")
		}
	}
}

func (a *archiveWriter) deleteFile() {
	_ = a.file.Close()
	_ = os.Remove(a.file.Name())
}

// readOperation reads the operation and checksum from the trailer of an archive. If the operation has not ended, there
// is no trailer, and it reads op.json at the beginning.
func readOperation(f *os.File, id string) (*archiveTrailer, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, newDamagedArchiveError(f.Name(), "it is not a regular file")
	}
	for _, at := range []int64{info.Size() - trailerSize, 0} {
		if at < 0 {
			continue
		}
		members := tar.NewReader(io.NewSectionReader(f, at, info.Size()-at))
		h, err := members.Next()
		if err != nil || h.Name != id+"/"+operationMember || at > 0 && h.Size != trailerSize-blockSize || h.Size > 1<<20 {
			continue
		}
		var op archiveTrailer
		data, err := io.ReadAll(members)
		if err != nil || !hasValidChecksum(data) || json.NewDecoder(bytes.NewReader(data)).Decode(&op) != nil || op.ID != id {
			break
		}
		return &op, nil
	}
	return nil, newDamagedArchiveError(f.Name(), "its description can't be read")
}

// newDamagedArchiveError returns the error for an archive that was changed.
func newDamagedArchiveError(path, reason string) error {
	return fmt.Errorf("the archive %s is damaged: %s; restore a copy of it", path, reason)
}

// verifyChecksum returns an error if the archive of an ended operation differs from what was written. Archives of
// earlier releases have no checksum.
func verifyChecksum(f *os.File, op *archiveTrailer) error {
	if op.Checksum == "" {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err = io.Copy(sum, io.NewSectionReader(f, 0, info.Size()-trailerSize)); err == nil && formatChecksum(sum.Sum32()) != op.Checksum {
		err = newDamagedArchiveError(f.Name(), "its checksum differs")
	}
	return err
}

// contentSpan is the byte range of kept file contents in an archive.
type contentSpan struct{ offset, size int64 }

// readArchive reads the record of an operation and locates kept contents by member number. If a process was killed
// before the operation ended, ended is false and the record has only the journal's objects and entries.
func readArchive(f *os.File, id string) (r *operationRecord, contents map[int]contentSpan, ended bool, err error) {
	r, contents = &operationRecord{}, map[int]contentSpan{}
	members := tar.NewReader(f)
	for {
		h, err := members.Next()
		if err != nil {
			break // the end, or where a killed process stopped
		}
		name, ok := strings.CutPrefix(h.Name, id+"/")
		if !ok {
			continue
		}
		number, isContent := strings.CutPrefix(name, contentFolder+"/")
		switch {
		case isContent:
			number, _, _ = strings.Cut(number, "/")
			n, err := strconv.Atoi(number)
			offset, seekErr := f.Seek(0, io.SeekCurrent)
			if err == nil && seekErr == nil {
				contents[n] = contentSpan{offset, h.Size}
			}
		case name == recordMember:
			r = &operationRecord{}
			if err := json.NewDecoder(members).Decode(r); err != nil {
				return nil, nil, false, fmt.Errorf("the archive of %s can't be read: %w", id, err)
			}
			return r, contents, true, r.checkAndSetIndexes()
		case name == operationMember:
			if err := json.NewDecoder(members).Decode(&r.Operation); err != nil {
				return nil, nil, false, fmt.Errorf("the archive of %s can't be read: %w", id, err)
			}
		case name == journalMember:
			r.readJournal(members)
		}
	}
	return r, contents, false, r.checkAndSetIndexes()
}

// journalLine is one JSON line of the journal: an object with its index, or an entry.
type journalLine struct {
	Object *fileObject  `json:"object,omitempty"`
	Index  int          `json:"index,omitempty"`
	Entry  *entryChange `json:"entry,omitempty"`
}

// readJournal adds the lines of a journal member to the record. The last line may be incomplete.
func (r *operationRecord) readJournal(from io.Reader) {
	lines := json.NewDecoder(from)
	for {
		var line journalLine
		if lines.Decode(&line) != nil {
			return
		}
		switch {
		case line.Object != nil && line.Index >= 0 && line.Index <= maxEntries*2:
			for len(r.Objects) <= line.Index { // those that the operation created are not in the journal
				r.Objects = append(r.Objects, &fileObject{Created: true, Parent: none})
			}
			r.Objects[line.Index] = line.Object
		case line.Entry != nil:
			r.Entries = append(r.Entries, line.Entry)
		}
	}
}

// checkAndSetIndexes returns an error if the record refers to objects that do not exist. It sets the index of each object.
func (r *operationRecord) checkAndSetIndexes() error {
	valid := func(i int) bool { return i >= none && i < len(r.Objects) }
	for i, o := range r.Objects {
		if o == nil || !valid(o.Parent) {
			return fmt.Errorf("the archive of %s is damaged", r.ID)
		}
		o.index = i
	}
	for _, e := range r.Entries {
		if e == nil || !valid(e.Dir) || !valid(e.Before) || !valid(e.After) {
			return fmt.Errorf("the archive of %s is damaged", r.ID)
		}
	}
	return nil
}
