package main

import (
	"bytes"
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
// there are, and which version it is, belongs to every answer.
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
		from := min(p.Offset, w.Size)
		part := make([]byte, min(p.length(), w.Size-from))
		if _, err := io.ReadFull(io.NewSectionReader(f, from, w.Size), part); err != nil {
			return err
		}
		return w.showBytes(part, from, enc)
	}
	w.Start, w.Text = lines.from, lines.kept.String()
	if w.Text == "" {
		w.noLine()
		return nil
	}
	if lines.full {
		w.cut(largestWindow, lines.begin)
	}
	w.End = w.Start + max(text.Count(w.Text), 1) - 1
	w.sayInvalid()
	return nil
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

// lineWindow keeps some lines of what is written to it, as far as there is room, and counts all.
type lineWindow struct {
	from, to int // line numbers from 1; to is 0 for the last
	room     int
	skip     bool // keep none

	kept    bytes.Buffer
	full    bool  // there was not room for all
	begin   int64 // where the first kept line begins, in bytes
	newline int   // how many newlines there were
	crlf    int
	seen    int64
	last    byte
}

func (l *lineWindow) Write(p []byte) (int, error) {
	rest := p
	for len(rest) > 0 && !l.skip && !l.full && (l.to == 0 || l.newline < l.to) {
		if l.newline+1 < l.from {
			rest = l.pass(rest)
			continue
		}
		if l.kept.Len() == 0 {
			l.begin = l.seen + int64(len(p)-len(rest))
		}
		rest = l.keep(rest)
	}
	l.tally(rest)
	l.seen += int64(len(p))
	return len(p), nil
}

// pass leaves out one line, or the rest.
func (l *lineWindow) pass(p []byte) []byte {
	end := bytes.IndexByte(p, '\n') + 1
	if end == 0 {
		end = len(p)
	}
	l.tally(p[:end])
	return p[end:]
}

// keep keeps what is wanted of p and returns what comes after.
func (l *lineWindow) keep(p []byte) []byte {
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
	l.tally(p[:end])
	return p[end:]
}

func (l *lineWindow) tally(p []byte) {
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

func (l *lineWindow) count() int {
	if l.seen > 0 && l.last != '\n' {
		return l.newline + 1
	}
	return l.newline
}

func (l *lineWindow) ending() string {
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
