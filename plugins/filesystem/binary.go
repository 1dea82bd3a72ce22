package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
)

// mostHex is how many bytes of a binary file one answer shows.
const mostHex = 4 << 10

// describe tells what a binary file is, which an agent can do more with than with damaged text.
func (w *window) describe(data []byte) {
	w.Binary = true
	w.MediaType = http.DetectContentType(data)
	w.Text = binary(w.Size, w.MediaType, sha256.Sum256(data))
	switch w.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		if len(data) <= largestImage {
			w.Media = data
			w.Text = fmt.Sprintf("image file, %d bytes, %s", w.Size, w.MediaType)
		}
	}
}

func binary(size int64, kind string, sum [sha256.Size]byte) string {
	return fmt.Sprintf("binary file, %d bytes, %s, sha256 %x; its bytes are not shown", size, kind, sum)
}

// hexadecimal shows the wanted bytes of a binary file as numbers. Nothing but these and the file's beginning is read.
func (w *window) hexadecimal(f io.ReaderAt, head []byte, p part) error {
	from := min(p.Offset, w.Size)
	data := make([]byte, min(p.length(), mostHex, w.Size-from))
	n, err := f.ReadAt(data, from)
	if err != nil && err != io.EOF {
		return err
	}
	data = data[:n]
	w.Binary, w.MediaType, w.asked = true, http.DetectContentType(head), true
	w.Text = fmt.Sprintf("binary file, %d bytes, %s; of these %d from %d on, in hexadecimal:\n% x", w.Size, w.MediaType, n,
		from, data)
	if end := from + int64(n); end < w.Size {
		w.Next = &next{Offset: &end}
	}
	return nil
}
