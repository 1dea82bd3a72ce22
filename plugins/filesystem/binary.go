package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
)

// maxHexBytes limits the bytes of a binary file in one result.
const maxHexBytes = 4 << 10

// describeBinary sets the window's text to a description of a binary file. An image becomes the window's media.
func (w *fileWindow) describeBinary(data []byte) {
	w.Binary = true
	w.MediaType = http.DetectContentType(data)
	w.Text = formatBinarySummary(w.Size, w.MediaType, sha256.Sum256(data))
	switch w.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		if len(data) <= maxImage {
			w.Media = data
			w.Text = fmt.Sprintf("image file, %d bytes, %s", w.Size, w.MediaType)
		}
	}
}

func formatBinarySummary(size int64, kind string, sum [sha256.Size]byte) string {
	return fmt.Sprintf("binary file, %d bytes, %s, sha256 %x; its bytes are not shown", size, kind, sum)
}

// readHex sets the window's text to the requested bytes in hexadecimal.
func (w *fileWindow) readHex(f io.ReaderAt, head []byte, p requestedPart) error {
	from := min(p.Offset, w.Size)
	data := make([]byte, min(p.byteCount(), maxHexBytes, w.Size-from))
	n, err := f.ReadAt(data, from)
	if err != nil && err != io.EOF {
		return err
	}
	data = data[:n]
	w.Binary, w.MediaType, w.asked = true, http.DetectContentType(head), true
	w.Text = fmt.Sprintf("binary file, %d bytes, %s; of these %d from %d on, in hexadecimal:\n% x", w.Size, w.MediaType, n,
		from, data)
	if end := from + int64(n); end < w.Size {
		w.Next = &nextPartRequest{Offset: &end}
	}
	return nil
}
