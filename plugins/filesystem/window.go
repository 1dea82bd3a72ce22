package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
)

const (
	// maxWholeText is the maximum size in bytes of a text that is returned completely
	maxWholeText = 2 << 20
	// maxWindow is the maximum size of a result for a longer file if no part was requested
	maxWindow = 256 << 10
	// maxInMemory is the maximum size of a file that is read into memory
	maxInMemory = 8 << 20
	// maxImage is the maximum size of an image that is returned as media
	maxImage = 4 << 20
	// headSize is the number of bytes from which the type of a file is detected
	headSize = 8 << 10
)

// requestedPart is the requested part of a file: all, lines or bytes.
type requestedPart struct {
	StartLine int   // from 1; 0 for the first
	EndLine   int   // 0 for the last
	Offset    int64 // in bytes
	Length    int64 // in bytes; 0 for the rest
	Bytes     bool  // Offset and Length select the part, not the lines
	Encoding  string
}

// validate returns an error for an invalid part.
func (p requestedPart) validate() error {
	switch {
	case p.Bytes && (p.StartLine > 0 || p.EndLine > 0):
		return sdk.Errorf(sdk.InvalidArgument, "name lines or bytes, not both: start_line and end_line, or offset and length")
	case p.EndLine > 0 && p.EndLine < max(p.StartLine, 1):
		return sdk.Errorf(sdk.InvalidArgument, "end_line %d is before start_line %d", p.EndLine, max(p.StartLine, 1))
	}
	return nil
}

// byteCount returns the number of requested bytes, at most those that fit into a result.
func (p requestedPart) byteCount() int64 {
	if p.Length == 0 {
		return maxWindow
	}
	return min(p.Length, maxWholeText)
}

// fileWindow is the part of a file that a read returns, with facts about the file.
type fileWindow struct {
	Path  string
	Text  string // shown text, without line numbers
	Start int    // number of the first line
	End   int    // number of the last line
	Lines int    // number of lines of the file

	Uncounted bool  // the file is too long to count its lines
	Size      int64 // of the file, in bytes
	Etag      string
	Encoding  string
	Mark      bool // a byte order mark
	EOL       string
	Next      *nextPartRequest // request for the next part; nil at the end of the requested part
	Note      string           // note about the text

	Media     []byte // an image
	MediaType string
	Binary    bool // Text is a description of the file

	asked bool // the request ends here
}

// nextPartRequest is the request for the part after a window.
type nextPartRequest struct {
	StartLine int    `json:"start_line,omitempty"`
	Offset    *int64 `json:"offset,omitempty"`
}

func (n *nextPartRequest) String() string {
	if n.Offset != nil {
		return fmt.Sprintf("offset=%d", *n.Offset)
	}
	return fmt.Sprintf("start_line=%d", n.StartLine)
}

// readPart reads a part of a file into a window, in bounded memory.
func readPart(ctx context.Context, env *sdk.Environment, m *pluginState, path string, p requestedPart) (*fileWindow, error) {
	if err := m.initOnce(env); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	f, err := env.Workspace.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err = env.Workspace.CheckFileSize(path, info.Size()); err != nil {
		return nil, err
	}
	w := &fileWindow{Path: f.Name(), Size: info.Size()}
	if info.Size() > maxInMemory {
		return w, w.readLongFile(ctx, f, p)
	}
	data, err := readWholeFile(f, info.Size())
	if err != nil {
		return nil, err
	}
	w.Size = int64(len(data))
	w.Etag = versions.ComputeStringEtag(data)
	m.seen.Add(w.Etag, data)
	return w, w.fillFromContents(data, p)
}

// readBlockSize is the size of a read. It is small enough for the CPU cache.
const readBlockSize = 128 << 10

// readWholeFile reads a file whose size is known. Kernel files have size 0 and more content.
func readWholeFile(f *os.File, size int64) (string, error) {
	var b strings.Builder
	b.Grow(int(size))
	buffer := make([]byte, min(size+1, readBlockSize))
	if _, err := io.CopyBuffer(writerOnly{&b}, readerOnly{io.LimitReader(f, maxInMemory+1)}, buffer); err != nil {
		return "", err
	}
	if b.Len() > maxInMemory {
		return "", sdk.Errorf(sdk.Conflict, "the file has grown while it was read; try again")
	}
	return b.String(), nil
}

// writerOnly hides all methods except Write, so that io.Copy uses the caller's buffer.
type writerOnly struct{ io.Writer }

// fillFromContents fills the window from the contents of a whole file.
func (w *fileWindow) fillFromContents(data string, p requestedPart) error {
	head := []byte(data[:min(len(data), headSize)])
	enc, err := chooseEncoding(head, p.Encoding)
	if err != nil {
		return err
	}
	w.Encoding, w.Mark = enc.Name, len(enc.Mark) > 0
	if p.Encoding == "" && len(enc.Mark) == 0 && text.IsBinary(head) {
		if p.Bytes {
			return w.readHex(strings.NewReader(data), head, p)
		}
		w.setBinaryDescription([]byte(data))
		return nil
	}
	s, err := enc.DecodeString(data)
	if err != nil {
		return sdk.Errorf(sdk.InvalidArgument, "%v", err)
	}
	w.EOL, w.Lines = text.DetectLineEnding(s), text.CountLines(s)
	if p.Bytes {
		return w.fillWithBytes(data, enc, p)
	}
	w.fillWithLines(s, p)
	w.noteInvalidText()
	return nil
}

// fillWithLines fills the window with the requested lines that fit into a result.
func (w *fileWindow) fillWithLines(s string, p requestedPart) {
	w.Start = max(p.StartLine, 1)
	from, ok := 0, true
	if w.Start > 1 {
		from, ok = text.LineOffset(s, w.Start)
	}
	if !ok || (from == len(s) && w.Start > 1) {
		w.markPastEnd()
		return
	}
	to := len(s)
	if p.EndLine > 0 && p.EndLine < w.Lines {
		end, _ := text.LineOffset(s[from:], p.EndLine-w.Start+2)
		to = from + end
	}
	w.Text = s[from:to]
	if len(w.Text) > maxWholeText {
		w.truncateText(maxWindow, int64(from))
	}
	w.End = w.Start + max(text.CountLines(w.Text), 1) - 1
}

// markPastEnd notes that the requested part is after the end of the file.
func (w *fileWindow) markPastEnd() {
	w.End = w.Start - 1
	w.Note = fmt.Sprintf("the file has %s; there is no line %d", formatLineCount(w.Lines), w.Start)
}

// totalLines returns the line count; nil if unknown.
func (w *fileWindow) totalLines() *int {
	if w.Uncounted {
		return nil
	}
	return &w.Lines
}

// formatLineCount returns a number of lines in words.
func formatLineCount(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// truncateText shortens the text to a number of bytes, if possible at the end of a line. base is the text's offset.
func (w *fileWindow) truncateText(limit int, base int64) {
	short := w.Text[:limit]
	if end := strings.LastIndexByte(short, '\n'); end >= 0 {
		w.Text = short[:end+1]
		w.Next = &nextPartRequest{StartLine: w.Start + strings.Count(w.Text, "\n")}
		return
	}
	for len(short) > 0 && !utf8.RuneStart(w.Text[len(short)]) {
		short = short[:len(short)-1]
	}
	w.Text = short
	at := base + int64(len(short))
	if w.Mark && w.Encoding == "utf-8" {
		at += 3
	}
	w.Next = &nextPartRequest{Offset: &at}
}

// fillWithBytes fills the window with the requested bytes, extended to whole characters.
func (w *fileWindow) fillWithBytes(data string, enc text.Encoding, p requestedPart) error {
	from := min(p.Offset, int64(len(data)))
	return w.decodeIntoWindow([]byte(data[from:min(int64(len(data)), from+p.byteCount())]), from, enc)
}

// decodeIntoWindow decodes bytes read at an offset of the file, and fills the window with the text.
func (w *fileWindow) decodeIntoWindow(data []byte, from int64, enc text.Encoding) error {
	if enc.IsPassthrough() {
		data = trimPartialRune(data)
	} else if len(data)%2 == 1 {
		data = data[:len(data)-1]
	}
	s, err := enc.Decode(data)
	if err != nil {
		return sdk.Errorf(sdk.InvalidArgument, "%v", err)
	}
	w.Text = s
	end := from + int64(len(data))
	if end < w.Size {
		w.Next = &nextPartRequest{Offset: &end}
	}
	w.asked = true
	w.noteInvalidText()
	return nil
}

// trimPartialRune removes an incomplete character at the end.
func trimPartialRune(data []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(data); back++ {
		if at := len(data) - back; utf8.RuneStart(data[at]) {
			if !utf8.FullRune(data[at:]) {
				return data[:at]
			}
			break
		}
	}
	return data
}

// chooseEncoding returns the encoding in the byte order mark, or else the one with a name.
func chooseEncoding(data []byte, name string) (text.Encoding, error) {
	enc := text.DetectEncoding(data)
	if len(enc.Mark) > 0 || name == "" {
		return enc, nil
	}
	enc, err := text.FindEncoding(name)
	if err != nil {
		return enc, sdk.Errorf(sdk.InvalidArgument, "%v", err)
	}
	enc.Mark = nil
	return enc, nil
}

// noteInvalidText adds a note if the text differs from the file's bytes.
func (w *fileWindow) noteInvalidText() {
	if w.Encoding == "utf-8" && !utf8.ValidString(w.Text) {
		w.Note = "the file is not valid UTF-8; invalid bytes show as U+FFFD. Set encoding, such as windows-1252"
	}
}
