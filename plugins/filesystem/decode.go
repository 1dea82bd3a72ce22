package main

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// decode is a file's contents as text: UTF-16 that says so by its byte order mark is read as that, everything else is
// taken for UTF-8.
func decode(data []byte) string {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
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
