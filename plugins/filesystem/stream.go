package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
)

// streamBlockSize is the size of each read from a long file.
const streamBlockSize = 256 << 10

// readLongFile fills the window from a file too long for memory, and counts lines and hashes it up to maxFullReadBytes.
func (w *fileWindow) readLongFile(ctx context.Context, f *os.File, p requestedPart) error {
	head := make([]byte, headSize)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF { //nolint:errorlint // ReadAt returns it as it is
		return err
	}
	head = head[:n]
	enc, err := chooseEncoding(head, p.Encoding)
	if err != nil {
		return err
	}
	w.Encoding, w.Mark = enc.Name, len(enc.Mark) > 0
	if w.Size > maxFullReadBytes {
		return w.readHugeFile(ctx, f, head, enc, p)
	}
	hash, sum := versions.NewEtagHasher(), sha256.New()
	raw := io.TeeReader(&contextReader{ctx, io.NewSectionReader(f, 0, w.Size)}, hash)
	if p.Encoding == "" && len(enc.Mark) == 0 && text.IsBinary(head) {
		if p.Bytes {
			return w.readHex(f, head, p)
		}
		if _, err := io.CopyBuffer(sum, readerOnly{raw}, make([]byte, streamBlockSize)); err != nil {
			return err
		}
		w.Etag, w.Binary, w.MediaType = hash.Etag(), true, http.DetectContentType(head)
		w.Text = formatBinarySummary(w.Size, w.MediaType, [sha256.Size]byte(sum.Sum(nil)))
		return nil
	}
	if _, err := io.CopyN(io.Discard, raw, int64(len(enc.Mark))); err != nil {
		return err
	}
	lines := &lineWindowWriter{from: max(p.StartLine, 1), to: p.EndLine, room: maxWindow, skip: p.Bytes}
	if _, err := io.CopyBuffer(lines, readerOnly{enc.NewDecodingReader(raw)}, make([]byte, streamBlockSize)); err != nil {
		return err
	}
	w.Etag, w.Lines, w.EOL = hash.Etag(), lines.lineCount(), lines.lineEnding()
	if p.Bytes {
		return w.readByteRange(f, enc, p)
	}
	w.Start = lines.from
	if lines.kept.Len() == 0 {
		w.markPastEnd()
		return nil
	}
	w.fillWithKeptLines(lines)
	return nil
}

// readByteRange fills the window with the requested bytes and reads nothing else.
func (w *fileWindow) readByteRange(f io.ReaderAt, enc text.Encoding, p requestedPart) error {
	from := min(p.Offset, w.Size)
	part := make([]byte, min(p.byteCount(), w.Size-from))
	if _, err := io.ReadFull(io.NewSectionReader(f, from, w.Size), part); err != nil {
		return err
	}
	return w.decodeIntoWindow(part, from, enc)
}

// fillWithKeptLines fills the window with the lines that a lineWindowWriter kept.
func (w *fileWindow) fillWithKeptLines(lines *lineWindowWriter) {
	w.Start, w.Text = lines.from, lines.kept.String()
	if lines.full {
		w.truncateText(maxWindow, lines.begin)
	}
	w.End = w.Start + max(text.CountLines(w.Text), 1) - 1
	w.noteInvalidText()
}

// contextReader is a reader that returns an error once its context has ended.
type contextReader struct {
	ctx context.Context //nolint:containedctx // it lives as long as the call
	r   io.Reader
}

func (s *contextReader) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, sdk.Errorf(sdk.Cancelled, "reading was cancelled")
	}
	return s.r.Read(p)
}

// readerOnly hides all methods except Read, so that io.Copy uses the caller's buffer.
type readerOnly struct{ io.Reader }

// readHugeFile fills the window from a file too long to read completely, without line count and content etag.
func (w *fileWindow) readHugeFile(ctx context.Context, f *os.File, head []byte, enc text.Encoding, p requestedPart) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	w.Etag, w.Uncounted = revisionEtag(info), true
	binaryFile := p.Encoding == "" && len(enc.Mark) == 0 && text.IsBinary(head)
	switch {
	case binaryFile && p.Bytes:
		return w.readHex(f, head, p)
	case binaryFile:
		w.Binary, w.MediaType = true, http.DetectContentType(head)
		w.Text = fmt.Sprintf("binary file, %d bytes, %s; its bytes are not shown; offset and length show some", w.Size,
			w.MediaType)
		return nil
	case p.Bytes:
		return w.readByteRange(f, enc, p)
	}
	mark := int64(len(enc.Mark))
	raw := &contextReader{ctx, io.NewSectionReader(f, mark, w.Size-mark)}
	lines := &lineWindowWriter{from: max(p.StartLine, 1), to: p.EndLine, room: maxWindow, hurry: true}
	if _, err := io.CopyBuffer(lines, readerOnly{enc.NewDecodingReader(raw)}, make([]byte, streamBlockSize)); err != nil &&
		!errors.Is(err, errStopReading) {
		return err
	}
	if w.Start = lines.from; lines.kept.Len() == 0 {
		w.End = w.Start - 1
		w.Note = fmt.Sprintf("line %d does not begin in the first %d bytes, and lines are not counted further; read bytes with offset", w.Start, maxFullReadBytes)
		return nil
	}
	w.fillWithKeptLines(lines)
	return nil
}

// lineWindowWriter keeps a range of the lines written to it, up to a number of bytes, and counts all lines.
type lineWindowWriter struct {
	from, to int // line numbers from 1; to is 0 for the last
	room     int
	skip     bool // keep none
	hurry    bool // end with errStopReading once nothing more is to be kept, or the lines are too far in

	kept    bytes.Buffer
	full    bool  // the room did not suffice for all lines
	begin   int64 // offset of the first kept line, in bytes
	newline int   // number of newlines so far
	crlf    int
	seen    int64
	last    byte
}

func (l *lineWindowWriter) Write(p []byte) (int, error) {
	rest := p
	for len(rest) > 0 && !l.skip && !l.full && (l.to == 0 || l.newline < l.to) {
		if l.newline+1 < l.from {
			rest = l.skipLine(rest)
			continue
		}
		if l.kept.Len() == 0 {
			l.begin = l.seen + int64(len(p)-len(rest))
		}
		rest = l.keepLines(rest)
	}
	l.countLines(rest)
	l.seen += int64(len(p))
	if l.hurry && (l.full || l.to > 0 && l.newline >= l.to || l.kept.Len() == 0 && l.seen >= maxFullReadBytes) {
		return len(p), errStopReading
	}
	return len(p), nil
}

// errStopReading ends the read of a file when the window is complete.
var errStopReading = errors.New("no further lines needed")

// skipLine counts one line without keeping it, and returns the rest.
func (l *lineWindowWriter) skipLine(p []byte) []byte {
	end := bytes.IndexByte(p, '\n') + 1
	if end == 0 {
		end = len(p)
	}
	l.countLines(p[:end])
	return p[end:]
}

// keepLines keeps the wanted lines at the beginning of p and returns the rest.
func (l *lineWindowWriter) keepLines(p []byte) []byte {
	end := len(p)
	if l.to > 0 {
		// As many newlines as lines are still wanted.
		end = 0
		for n := l.newline; n < l.to && end < len(p); n++ {
			next := bytes.IndexByte(p[end:], '\n')
			if next < 0 {
				end = len(p)
				break
			}
			end += next + 1
		}
	}
	if over := l.kept.Len() + end - l.room - 1; over > 0 {
		end -= over
		l.full = true
	}
	l.kept.Write(p[:end])
	l.countLines(p[:end])
	return p[end:]
}

func (l *lineWindowWriter) countLines(p []byte) {
	if len(p) == 0 {
		return
	}
	l.newline += bytes.Count(p, []byte{'\n'})
	l.crlf += bytes.Count(p, []byte("\r\n"))
	if l.last == '\r' && p[0] == '\n' {
		l.crlf++
	}
	l.last = p[len(p)-1]
}

func (l *lineWindowWriter) lineCount() int {
	if l.seen > 0 && l.last != '\n' {
		return l.newline + 1
	}
	return l.newline
}

func (l *lineWindowWriter) lineEnding() string {
	switch {
	case l.newline == 0:
		return text.None
	case l.crlf == 0:
		return text.LF
	case l.crlf == l.newline:
		return text.CRLF
	}
	return text.Mixed
}
