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

// streamBlock is how much of a long file is read at a time, in bytes.
const streamBlock = 256 << 10

// stream makes the window of a file that is too long for memory. It reads the file once, to its end: how many lines
// there are, and which version it is, belongs to every answer. One that is longer than maxRead it reads only as far as
// it has to.
func (w *window) stream(ctx context.Context, f *os.File, p part) error {
	head := make([]byte, looked)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF { //nolint:errorlint // ReadAt returns it as it is
		return err
	}
	head = head[:n]
	enc, err := encodingOf(head, p.Encoding)
	if err != nil {
		return err
	}
	w.Encoding, w.Mark = enc.Name, len(enc.Mark) > 0
	if w.Size > maxRead {
		return w.streamPart(ctx, f, head, enc, p)
	}
	hash, sum := versions.NewHash(), sha256.New()
	raw := io.TeeReader(&stoppable{ctx, io.NewSectionReader(f, 0, w.Size)}, hash)
	if p.Encoding == "" && len(enc.Mark) == 0 && text.Binary(head) {
		if p.Bytes {
			return w.hexadecimal(f, head, p)
		}
		if _, err := io.CopyBuffer(sum, onlyReader{raw}, make([]byte, streamBlock)); err != nil {
			return err
		}
		w.Etag, w.Binary, w.MediaType = hash.Etag(), true, http.DetectContentType(head)
		w.Text = binary(w.Size, w.MediaType, [sha256.Size]byte(sum.Sum(nil)))
		return nil
	}
	if _, err := io.CopyN(io.Discard, raw, int64(len(enc.Mark))); err != nil {
		return err
	}
	lines := &lineWindow{from: max(p.StartLine, 1), to: p.EndLine, room: largestWindow, skip: p.Bytes}
	if _, err := io.CopyBuffer(lines, onlyReader{enc.Reader(raw)}, make([]byte, streamBlock)); err != nil {
		return err
	}
	w.Etag, w.Lines, w.EOL = hash.Etag(), lines.count(), lines.ending()
	if p.Bytes {
		return w.readBytes(f, enc, p)
	}
	w.Start = lines.from
	if lines.kept.Len() == 0 {
		w.noLine()
		return nil
	}
	w.takeKept(lines)
	return nil
}

// readBytes reads the wanted bytes, and nothing else.
func (w *window) readBytes(f io.ReaderAt, enc text.Encoding, p part) error {
	from := min(p.Offset, w.Size)
	part := make([]byte, min(p.length(), w.Size-from))
	if _, err := io.ReadFull(io.NewSectionReader(f, from, w.Size), part); err != nil {
		return err
	}
	return w.showBytes(part, from, enc)
}

// takeKept makes the lines that were kept the window.
func (w *window) takeKept(lines *lineWindow) {
	w.Start, w.Text = lines.from, lines.kept.String()
	if lines.full {
		w.cut(largestWindow, lines.begin)
	}
	w.End = w.Start + max(text.Count(w.Text), 1) - 1
	w.sayInvalid()
}

// stoppable is a reader that ends with a context.
type stoppable struct {
	ctx context.Context //nolint:containedctx // it lives as long as the call
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, sdk.Errorf(sdk.Cancelled, "reading was cancelled")
	}
	return s.r.Read(p)
}

// onlyReader hides everything of a reader but Read, so that copies go through the caller's buffer.
type onlyReader struct{ io.Reader }
