package undo

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// xattrs are extended attributes by name. JSON has no strings for names that are not UTF-8, so these are encoded.
type xattrs map[string][]byte

// encodedName begins a name in Base64. No attribute's name begins so.
const encodedName = "\x00"

// MarshalJSON returns a JSON object.
func (x xattrs) MarshalJSON() ([]byte, error) {
	all := make(map[string][]byte, len(x))
	for name, value := range x {
		if !utf8.ValidString(name) {
			name = encodedName + base64.StdEncoding.EncodeToString([]byte(name))
		}
		all[name] = value
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads a JSON object.
func (x *xattrs) UnmarshalJSON(text []byte) error {
	var all map[string][]byte
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*x = nil
	if all != nil {
		*x = make(xattrs, len(all))
	}
	for name, value := range all {
		if encoded, ok := strings.CutPrefix(name, encodedName); ok {
			raw, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				return fmt.Errorf("the name of an extended attribute: %w", err)
			}
			name = string(raw)
		}
		(*x)[name] = value
	}
	return nil
}
