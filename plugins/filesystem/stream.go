package main

import (
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"os"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
)

// streamBlockSize is the size of reads of a long file.
const streamBlockSize = 256 << 10

// streamFile builds the window of a file too long for memory. It reads the whole file once, for line count and version,
// unless it exceeds maxReadBytes.
func (w *fileWindow) streamFile(ctx context.Context, f *os.File, p filePart) error {
	head := make([]byte, looked)
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
	if w.Size > maxReadBytes {
		return w.streamPart(ctx, f, head, enc, p)
	}
	hash, sum := versions.NewHash(), sha256.New()
	raw := io.TeeReader(&contextReader{ctx, io.NewSectionReader(f, 0, w.Size)}, hash)
	if p.Encoding == "" && len(enc.Mark) == 0 && text.Binary(head) {
		if p.Bytes {
			return w.showHex(f, head, p)
		}
		if _, err := io.CopyBuffer(sum, onlyReader{raw}, make([]byte, streamBlockSize)); err != nil {
			return err
		}
		w.Etag, w.Binary, w.MediaType = hash.Etag(), true, http.DetectContentType(head)
		w.Text = binarySummary(w.Size, w.MediaType, [sha256.Size]byte(sum.Sum(nil)))
		return nil
	}
	if _, err := io.CopyN(io.Discard, raw, int64(len(enc.Mark))); err != nil {
		return err
	}
	lines := &lineWindow{from: max(p.StartLine, 1), to: p.EndLine, room: largestWindow, skip: p.Bytes}
	if _, err := io.CopyBuffer(lines, onlyReader{enc.Reader(raw)}, make([]byte, streamBlockSize)); err != nil {
		return err
	}
	w.Etag, w.Lines, w.EOL = hash.Etag(), lines.lineCount(), lines.lineEnding()
	if p.Bytes {
		return w.readRange(f, enc, p)
	}
	w.Start = lines.from
	if lines.kept.Len() == 0 {
		w.setPastEnd()
		return nil
	}
	w.useLines(lines)
	return nil
}

// readRange reads only the requested bytes.
func (w *fileWindow) readRange(f io.ReaderAt, enc text.Encoding, p filePart) error {
	from := min(p.Offset, w.Size)
	part := make([]byte, min(p.byteCount(), w.Size-from))
	if _, err := io.ReadFull(io.NewSectionReader(f, from, w.Size), part); err != nil {
		return err
	}
	return w.showBytes(part, from, enc)
}

// useLines fills the window with the kept lines.
func (w *fileWindow) useLines(lines *lineWindow) {
	w.Start, w.Text = lines.from, lines.kept.String()
	if lines.full {
		w.truncate(largestWindow, lines.begin)
	}
	w.End = w.Start + max(text.Count(w.Text), 1) - 1
	w.noteInvalid()
}

// contextReader is a reader that ends with a context.
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

// onlyReader hides all methods except Read, so that copies use the caller's buffer.
type onlyReader struct{ io.Reader }
