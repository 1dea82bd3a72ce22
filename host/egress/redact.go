package egress

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// redactor puts placeholders where a server sends real values. Each is as long as what it replaces.
type redactor struct {
	pairs []pair // the longest first
}

type pair struct{ value, placeholder string }

// with is the redactor with one more pair.
func (r redactor) with(value, placeholder string) redactor {
	pairs := append(slices.Clone(r.pairs), pair{value, placeholder})
	slices.SortStableFunc(pairs, func(a, b pair) int { return len(b.value) - len(a.value) })
	return redactor{pairs}
}

// text redacts a text.
func (r redactor) text(s string) string {
	for _, p := range r.pairs {
		s = strings.ReplaceAll(s, p.value, p.placeholder)
	}
	return s
}

// header redacts a header where it is.
func (r redactor) header(h http.Header) {
	for key, values := range h {
		for i, v := range values {
			values[i] = r.text(v)
		}
		if redacted := r.name(key); redacted != key {
			delete(h, key)
			h[redacted] = values
		}
	}
}

// name redacts the name of a header, in which case makes no difference.
func (r redactor) name(key string) string {
	for _, p := range r.pairs {
		for i := 0; i+len(p.value) <= len(key); i++ {
			if strings.EqualFold(key[i:i+len(p.value)], p.value) {
				key = key[:i] + p.placeholder + key[i+len(p.value):]
			}
		}
	}
	return key
}

// fill redacts as much of b as can be told now, and returns its length: what is after it may be the beginning of a
// value. At the end nothing is.
func (r redactor) fill(b []byte, end bool) int {
	var firsts [256]bool
	for _, p := range r.pairs {
		firsts[p.value[0]] = true
	}
next:
	for i := 0; i < len(b); i++ {
		if !firsts[b[i]] {
			continue
		}
		for _, p := range r.pairs {
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

// reader redacts what is read from r. It holds back only what may be the beginning of a value.
func (r redactor) reader(from io.Reader) io.Reader {
	if len(r.pairs) == 0 {
		return from
	}
	return &redacting{redactor: r, from: from, buf: make([]byte, 32<<10)}
}

type redacting struct {
	redactor
	from  io.Reader
	buf   []byte
	ready []byte // redacted
	held  []byte // after it, not told yet
	err   error
}

func (r *redacting) Read(b []byte) (int, error) {
	for len(r.ready) == 0 && len(b) > 0 {
		if r.err != nil {
			return 0, r.err
		}
		held := copy(r.buf, r.held)
		if held == len(r.buf) { // values are longer than it
			r.buf = append(r.buf, bytes.Repeat([]byte{0}, len(r.buf))...)
		}
		var n int
		n, r.err = r.from.Read(r.buf[held:])
		all := r.buf[:held+n]
		n = r.fill(all, r.err != nil)
		r.ready, r.held = all[:n], all[n:]
	}
	n := copy(b, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}
