package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unicode/utf16"
)

// decode is a file's contents as text: UTF-16 that says so by its byte order mark is read as that, everything else is
// taken for UTF-8. Of a binary file it tells size and hash, which an agent can do more with than with damaged text.
func decode(data []byte) string {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	case binaryData(data):
		return fmt.Sprintf("binary file, %d bytes, sha256 %x; its bytes are not shown", len(data), sha256.Sum256(data))
	default:
		return string(data)
	}
	data = data[2:]
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units))
}

// binaryData reports whether there is a NUL byte near the beginning, which text does not have.
func binaryData(data []byte) bool {
	const looked = 8 << 10
	return bytes.IndexByte(data[:min(len(data), looked)], 0) >= 0
}
