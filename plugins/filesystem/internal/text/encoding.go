// Package text converts file contents: encodings, byte order marks, line endings and line numbers.
//
// It must not know of files, tools or workspaces.
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

// Encoding is a character encoding of a file, with the byte order mark that the file begins with.
type Encoding struct {
	Name string
	Mark []byte // the byte order mark that the file begins with; nil for none

	codec encoding.Encoding // nil for UTF-8
}

// encodingsWithBOM returns the encodings that have a byte order mark.
func encodingsWithBOM() []Encoding {
	return []Encoding{
		{Name: "utf-8", Mark: []byte("\xef\xbb\xbf")},
		{Name: "utf-16le", Mark: []byte("\xff\xfe"), codec: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
		{Name: "utf-16be", Mark: []byte("\xfe\xff"), codec: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	}
}

// DetectEncoding returns the encoding in the byte order mark at the beginning of a file, or else UTF-8.
func DetectEncoding(head []byte) Encoding {
	for _, e := range encodingsWithBOM() {
		if bytes.HasPrefix(head, e.Mark) {
			return e
		}
	}
	return Encoding{Name: "utf-8"}
}

// FindEncoding returns the encoding with a name, such as "utf-8", "utf-16", "latin-1" or "shift_jis".
func FindEncoding(name string) (Encoding, error) {
	switch plain := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-"); plain {
	case "utf-8", "utf8":
		return Encoding{Name: "utf-8"}, nil
	case "utf-8-sig", "utf-8-bom":
		return encodingsWithBOM()[0], nil
	case "utf-16", "utf16":
		return encodingsWithBOM()[1], nil
	case "utf-16le", "utf-16-le":
		return encodingsWithBOM()[1].withoutBOM(), nil
	case "utf-16be", "utf-16-be":
		return encodingsWithBOM()[2].withoutBOM(), nil
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

func (e Encoding) withoutBOM() Encoding {
	e.Mark = nil
	return e
}

// IsPassthrough reports whether bytes are used as text without conversion, as for UTF-8 and for an unknown encoding, of
// which only ASCII is understood.
func (e Encoding) IsPassthrough() bool { return e.codec == nil }

// TrimBOM removes the byte order mark from the beginning of data.
func (e Encoding) TrimBOM(data []byte) []byte { return bytes.TrimPrefix(data, e.Mark) }

// Decode converts data to text without the byte order mark. Data in UTF-8 is returned as it is, also if invalid.
func (e Encoding) Decode(data []byte) (string, error) {
	data = e.TrimBOM(data)
	if e.codec == nil {
		return string(data), nil
	}
	out, err := e.codec.NewDecoder().Bytes(data)
	if err != nil {
		return "", fmt.Errorf("read as %s: %w", e.Name, err)
	}
	return string(out), nil
}

// DecodeString is like Decode for a string.
func (e Encoding) DecodeString(data string) (string, error) {
	if e.codec == nil {
		return strings.TrimPrefix(data, string(e.Mark)), nil
	}
	return e.Decode([]byte(data))
}

// NewDecodingReader returns a reader that decodes the data of r, which must be after the byte order mark.
func (e Encoding) NewDecodingReader(r io.Reader) io.Reader {
	if e.codec == nil {
		return r
	}
	return e.codec.NewDecoder().Reader(r)
}

// Encode converts text to bytes without a byte order mark.
func (e Encoding) Encode(s string) ([]byte, error) {
	if e.codec == nil {
		return []byte(s), nil
	}
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("the text is not valid UTF-8, so it can't be written as %s", e.Name)
	}
	out, err := e.codec.NewEncoder().Bytes([]byte(s))
	if err != nil {
		return nil, fmt.Errorf("%s has no %s", e.Name, e.findUnencodable(s))
	}
	return out, nil
}

// findUnencodable returns the first character that the encoding lacks.
func (e Encoding) findUnencodable(s string) string {
	for _, r := range s {
		if _, err := e.codec.NewEncoder().String(string(r)); err != nil {
			return fmt.Sprintf("%q", r)
		}
	}
	return "such text"
}

// EncodeFile converts text to the bytes of a whole file, with the byte order mark.
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

// ReplaceRange replaces a range of a file's text and leaves all other bytes as they are. The offsets from and to
// refer to decoded, the result of Decode.
func (e Encoding) ReplaceRange(data []byte, decoded string, from, to int, with string) ([]byte, error) {
	body := e.TrimBOM(data)
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
				return e.encodeWithBOM(data, decoded[:from]+with+decoded[to:])
			}
			return nil, fmt.Errorf("the file has invalid %s before this position, so changes there are not safe", e.Name)
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

// encodeWithBOM converts text to bytes, with the byte order mark of the file's data.
func (e Encoding) encodeWithBOM(data []byte, decoded string) ([]byte, error) {
	body, err := e.Encode(decoded)
	if err != nil {
		return nil, err
	}
	mark := data[:len(data)-len(e.TrimBOM(data))]
	return append(bytes.Clone(mark), body...), nil
}

// IsBinary reports whether the beginning of a file without byte order mark contains a NUL byte.
func IsBinary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }
