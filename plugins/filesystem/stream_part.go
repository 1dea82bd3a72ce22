package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
)

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
	w.setKeptLines(lines)
	return nil
}
