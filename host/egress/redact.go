package egress

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// redactor replaces secret values in text by placeholders of the same length.
type redactor struct {
	secrets []secretPlaceholder // longest value first
}

// secretPlaceholder is a secret value and the placeholder that replaces it.
type secretPlaceholder struct{ value, placeholder string }

// withSecret returns a redactor that replaces another secret too.
func (r redactor) withSecret(value, placeholder string) redactor {
	pairs := append(slices.Clone(r.secrets), secretPlaceholder{value, placeholder})
	slices.SortStableFunc(pairs, func(a, b secretPlaceholder) int { return len(b.value) - len(a.value) })
	return redactor{pairs}
}

func (r redactor) redactText(s string) string {
	for _, p := range r.secrets {
		s = strings.ReplaceAll(s, p.value, p.placeholder)
	}
	return s
}

// redactHeader redacts the names and values of a header in place.
func (r redactor) redactHeader(h http.Header) {
	for key, values := range h {
		for i, v := range values {
			values[i] = r.redactText(v)
		}
		if redacted := r.redactHeaderName(key); redacted != key {
			delete(h, key)
			h[redacted] = values
		}
	}
}

// redactHeaderName redacts the name of a header, ignoring case.
func (r redactor) redactHeaderName(key string) string {
	for _, p := range r.secrets {
		for i := 0; i+len(p.value) <= len(key); i++ {
			if strings.EqualFold(key[i:i+len(p.value)], p.value) {
				key = key[:i] + p.placeholder + key[i+len(p.value):]
			}
		}
	}
	return key
}

// redactPrefix redacts b in place and returns the length of the redacted part. The rest of b may be the beginning of a
// secret value. With end set, there is no rest.
func (r redactor) redactPrefix(b []byte, end bool) int {
	var firstBytes [256]bool
	for _, p := range r.secrets {
		firstBytes[p.value[0]] = true
	}
next:
	for i := 0; i < len(b); i++ {
		if !firstBytes[b[i]] {
			continue
		}
		for _, p := range r.secrets {
			switch rest := b[i:]; {
			case len(rest) >= len(p.value) && string(rest[:len(p.value)]) == p.value:
				copy(rest, p.placeholder)
				i += len(p.value) - 1
				continue next
			case !end && len(rest) < len(p.value) && strings.HasPrefix(p.value, string(rest)):
				return i
			}
		}
	}
	return len(b)
}

// newRedactingReader returns a reader of redacted data. It holds back only data that may be the beginning of a secret
// value.
func (r redactor) newRedactingReader(from io.Reader) io.Reader {
	if len(r.secrets) == 0 {
		return from
	}
	return &redactingReader{redactor: r, from: from, buf: make([]byte, 32<<10)}
}

// redactingReader reads data and redacts it.
type redactingReader struct {
	redactor
	from     io.Reader
	buf      []byte
	redacted []byte // not returned yet
	pending  []byte // may be the beginning of a value
	err      error
}

// Read returns redacted data.
func (r *redactingReader) Read(b []byte) (int, error) {
	for len(r.redacted) == 0 && len(b) > 0 {
		if r.err != nil {
			return 0, r.err
		}
		held := copy(r.buf, r.pending)
		if held == len(r.buf) { // a value is longer than the buffer
			r.buf = append(r.buf, bytes.Repeat([]byte{0}, len(r.buf))...)
		}
		var n int
		n, r.err = r.from.Read(r.buf[held:])
		all := r.buf[:held+n]
		n = r.redactPrefix(all, r.err != nil)
		r.redacted, r.pending = all[:n], all[n:]
	}
	n := copy(b, r.redacted)
	r.redacted = r.redacted[n:]
	return n, nil
}
