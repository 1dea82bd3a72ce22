package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
)

// maxHexBytes limits the bytes of a binary file in one answer.
const maxHexBytes = 4 << 10

// describeBinary describes a binary file instead of showing damaged text.
func (w *fileWindow) describeBinary(data []byte) {
	w.Binary = true
	w.MediaType = http.DetectContentType(data)
	w.Text = binarySummary(w.Size, w.MediaType, sha256.Sum256(data))
	switch w.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		if len(data) <= largestImage {
			w.Media = data
			w.Text = fmt.Sprintf("image file, %d bytes, %s", w.Size, w.MediaType)
		}
	}
}

func binarySummary(size int64, kind string, sum [sha256.Size]byte) string {
	return fmt.Sprintf("binary file, %d bytes, %s, sha256 %x; its bytes are not shown", size, kind, sum)
}

// showHex shows the requested bytes in hexadecimal. It reads only these and the file's beginning.
func (w *fileWindow) showHex(f io.ReaderAt, head []byte, p filePart) error {
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
		w.Next = &nextPart{Offset: &end}
	}
	return nil
}
