package takeback

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Names and attributes are bytes, of which JSON can only say those that are UTF-8. The others are written as base64
// behind a byte that no name has.

const encodedMark = "\x00"

func encoded(s string) string {
	if utf8.ValidString(s) && !strings.HasPrefix(s, encodedMark) {
		return s
	}
	return encodedMark + base64.StdEncoding.EncodeToString([]byte(s))
}

func decoded(s string) string {
	text, ok := strings.CutPrefix(s, encodedMark)
	if !ok {
		return s
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return s
	}
	return string(data)
}

// each changes everything in an entry that is bytes.
func (e *Entry) each(change func(string) string) {
	for _, s := range []*string{&e.Path, &e.Now, &e.Link, &e.Same} {
		*s = change(*s)
	}
	if len(e.Attributes) > 0 {
		all := map[string]string{}
		for name, value := range e.Attributes {
			all[change(name)] = change(value)
		}
		e.Attributes = all
	}
}

// MarshalJSON writes names whatever bytes they are.
func (e *Entry) MarshalJSON() ([]byte, error) {
	type plain Entry
	now := *e
	now.each(encoded)
	return json.Marshal((*plain)(&now))
}

// UnmarshalJSON reads what MarshalJSON has written.
func (e *Entry) UnmarshalJSON(data []byte) error {
	type plain Entry
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}
	e.each(decoded)
	return nil
}
