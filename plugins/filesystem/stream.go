package main

import (
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
