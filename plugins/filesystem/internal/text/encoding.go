// Package text knows how text is written in files: encodings, byte order marks, line endings, lines and their numbers.
//
// It works on bytes that somebody else has read. It must not know of files, tools or workspaces.
package text

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// Encoding is how text is written as bytes.
type Encoding struct {
	Name string
	Mark []byte // the byte order mark that the file begins with; nil for none

	codec encoding.Encoding // nil for UTF-8
}

// markedEncodings are the encodings with a byte order mark.
func markedEncodings() []Encoding {
	return []Encoding{
		{Name: "utf-8", Mark: []byte("\xef\xbb\xbf")},
		{Name: "utf-16le", Mark: []byte("\xff\xfe"), codec: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
		{Name: "utf-16be", Mark: []byte("\xfe\xff"), codec: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	}
}

// Detect returns the encoding of a file that begins with head: what its byte order mark says, and UTF-8 otherwise.
func Detect(head []byte) Encoding {
	for _, e := range markedEncodings() {
		if bytes.HasPrefix(head, e.Mark) {
			return e
		}
	}
	return Encoding{Name: "utf-8"}
}

// Named returns the encoding of a name, such as "utf-8", "utf-16", "latin-1" or "shift_jis".
func Named(name string) (Encoding, error) {
	switch plain := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-"); plain {
	case "utf-8", "utf8":
		return Encoding{Name: "utf-8"}, nil
	case "utf-8-sig", "utf-8-bom":
		return markedEncodings()[0], nil
	case "utf-16", "utf16":
		return markedEncodings()[1], nil
	case "utf-16le", "utf-16-le":
		return markedEncodings()[1].withoutMark(), nil
	case "utf-16be", "utf-16-be":
		return markedEncodings()[2].withoutMark(), nil
	default:
		if plain == "latin-1" {
			plain = "latin1"
		}
		codec, err := htmlindex.Get(plain)
		if err != nil {
			return Encoding{}, fmt.Errorf("encoding %q is not known; utf-8, utf-16, utf-16le, utf-16be, latin-1, windows-1252, shift_jis, gbk and others are", name)
		}
		canonical, err := htmlindex.Name(codec)
		if err != nil {
			canonical = plain
		}
		return Encoding{Name: canonical, codec: codec}, nil
	}
}

func (e Encoding) withoutMark() Encoding {
	e.Mark = nil
	return e
}

// Plain reports whether bytes are text as they are: UTF-8, or something of which only the ASCII part is understood.
func (e Encoding) Plain() bool { return e.codec == nil }

// Strip takes the byte order mark off.
func (e Encoding) Strip(data []byte) []byte { return bytes.TrimPrefix(data, e.Mark) }

// Decode returns data, without its byte order mark, as text. In UTF-8 that is the bytes themselves, valid or not.
func (e Encoding) Decode(data []byte) (string, error) {
	data = e.Strip(data)
	if e.codec == nil {
		return string(data), nil
	}
	out, err := e.codec.NewDecoder().Bytes(data)
	if err != nil {
		return "", fmt.Errorf("read as %s: %w", e.Name, err)
	}
	return string(out), nil
}

// DecodeString is Decode for data that is a string already.
func (e Encoding) DecodeString(data string) (string, error) {
	if e.codec == nil {
		return strings.TrimPrefix(data, string(e.Mark)), nil
	}
	return e.Decode([]byte(data))
}

// Reader decodes what a reader gives, from behind the byte order mark.
func (e Encoding) Reader(r io.Reader) io.Reader {
	if e.codec == nil {
		return r
	}
	return e.codec.NewDecoder().Reader(r)
}

// Encode returns text as bytes, without a byte order mark.
func (e Encoding) Encode(s string) ([]byte, error) {
	if e.codec == nil {
		return []byte(s), nil
	}
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("the text is not valid UTF-8, so it can't be written as %s", e.Name)
	}
	out, err := e.codec.NewEncoder().Bytes([]byte(s))
	if err != nil {
		return nil, fmt.Errorf("%s has no %s", e.Name, e.unencodable(s))
	}
	return out, nil
}

// unencodable returns the first character the encoding lacks.
func (e Encoding) unencodable(s string) string {
	for _, r := range s {
		if _, err := e.codec.NewEncoder().String(string(r)); err != nil {
			return fmt.Sprintf("%q", r)
		}
	}
	return "such text"
}

// EncodeFile returns text as the bytes of a whole file, with its byte order mark.
func (e Encoding) EncodeFile(s string) ([]byte, error) {
	if len(e.Mark) > 0 {
		s = strings.TrimPrefix(s, "\uFEFF") // the mark that some put into the text themselves
	}
	out, err := e.Encode(s)
	if err != nil || len(e.Mark) == 0 {
		return out, err
	}
	return append(bytes.Clone(e.Mark), out...), nil
}

// Splice replaces a part of a file's text, from and to being places in what Decode returns, without touching any byte
// outside it.
func (e Encoding) Splice(data []byte, decoded string, from, to int, with string) ([]byte, error) {
	body := e.Strip(data)
	start, end := from, to
	if e.codec != nil {
		before, err := e.Encode(decoded[:from])
		if err != nil {
			return nil, err
		}
		middle, err := e.Encode(decoded[from:to])
		if err != nil {
			return nil, err
		}
		start, end = len(before), len(before)+len(middle)
		if !bytes.HasPrefix(body, before) || !bytes.HasPrefix(body[start:], middle) {
			// An encoding that shifts between sets of characters says at each place which one it is in.
			if whole, err := e.Encode(decoded); err == nil && bytes.Equal(whole, body) {
				return e.encodeWithMark(data, decoded[:from]+with+decoded[to:])
			}
			return nil, fmt.Errorf("the file has bytes before this place that are not proper %s, so nothing can be changed there safely", e.Name)
		}
	}
	insert, err := e.Encode(with)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(data)-(end-start)+len(insert))
	out = append(out, data[:len(data)-len(body)]...)
	out = append(out, body[:start]...)
	out = append(out, insert...)
	return append(out, body[end:]...), nil
}

// encodeWithMark encodes text and keeps the file's byte order mark.
func (e Encoding) encodeWithMark(data []byte, decoded string) ([]byte, error) {
	body, err := e.Encode(decoded)
	if err != nil {
		return nil, err
	}
	mark := data[:len(data)-len(e.Strip(data))]
	return append(bytes.Clone(mark), body...), nil
}

// Binary reports whether data, the beginning of a file without byte order mark, is no text: text has no NUL.
func Binary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }
