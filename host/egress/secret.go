package egress

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Secret is a value that programs in the sandbox use without seeing it. They use the placeholder, and the proxy
// replaces it by the value in one header of requests to the secret's hosts.
type Secret struct {
	Name        string
	Placeholder string   // as long as Value
	Value       string   `json:"-"` // sent to servers
	Hosts       []string // entries as in Rules; without a port, 443 only
	Header      string   // as Authorization
	Template    string   // as "Bearer {{secret}}"

	// Fetch returns the current value, for one that changes. Programs then get no placeholder, and Value is unused.
	Fetch func(context.Context) (string, error) `json:"-"`
	// Plain sends the value without TLS too, for servers on this machine.
	Plain bool
}

// String returns the name, so that no log contains the value.
func (s Secret) String() string { return s.Name }

// GoString returns the name.
func (s Secret) GoString() string { return s.Name }

// Validate checks the fields of a secret except its value, which may be unknown.
func (s Secret) Validate() error {
	s.Value, s.Placeholder = dummyValue, dummyPlaceholder
	_, err := compileSecret(s)
	return errors.Unwrap(err) // the caller knows the name
}

// valueMarker is the part of a template that the secret value replaces.
const valueMarker = "{{secret}}"

// minSecretLen is the minimum length of a secret in bytes. Shorter values occur in responses by chance.
const minSecretLen = 8

// dummyValue and dummyPlaceholder stand for those of a value that is unknown until a request.
const dummyValue, dummyPlaceholder = "value___", "dummy___"

// NewPlaceholder returns a random placeholder of a given length.
func NewPlaceholder(length int) string {
	var b strings.Builder
	if length >= 28 {
		b.WriteString("placeholder-")
	}
	for b.Len() < length {
		b.WriteString(rand.Text())
	}
	return b.String()[:length]
}

// compiledSecret is a secret with its parsed hosts.
type compiledSecret struct {
	Secret
	entries []hostPattern
}

// compileSecret validates a secret and parses its hosts.
func compileSecret(s Secret) (compiledSecret, error) {
	var b compiledSecret
	if s.Fetch != nil {
		s.Value, s.Placeholder = dummyValue, dummyPlaceholder
	}
	b.Secret = s
	invalid := func(format string, args ...any) (compiledSecret, error) {
		return b, fmt.Errorf("secret %q: %w", s.Name, fmt.Errorf(format, args...))
	}
	switch {
	case len(s.Value) < minSecretLen:
		return invalid("its value has fewer than %d bytes; shorter values can't be distinguished from other text", minSecretLen)
	case len(s.Placeholder) != len(s.Value) || s.Placeholder == s.Value:
		return invalid("its placeholder must have the length of the value and differ from it; create one with NewPlaceholder")
	case len(s.Hosts) == 0:
		return invalid("it has no hosts; list those that get it")
	case !httpguts.ValidHeaderFieldName(s.Header):
		return invalid("%q is not a header name; write one such as Authorization", s.Header)
	case strings.Count(s.Template, valueMarker) != 1:
		return invalid("its template must contain %s once; write one such as \"Bearer %[1]s\"", valueMarker)
	case !httpguts.ValidHeaderFieldValue(b.insertedHeaderValue()):
		return invalid("it has characters that headers can't contain, such as a newline; remove them")
	}
	switch b.Header = http.CanonicalHeaderKey(s.Header); b.Header {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer":
		return invalid("%s is a connection header; use another one", b.Header)
	}
	for _, text := range s.Hosts {
		e, err := parseHostEntry(text)
		if err != nil {
			return invalid("%q: %w", text, err)
		}
		if _, public := e.matchedPublicSuffix(); public || e.anyName {
			return invalid("%q matches all hosts; list the hosts that get it", text)
		}
		b.entries = append(b.entries, e)
	}
	return b, nil
}

// fetchSecrets returns the secrets for a request to a target, with the current values.
func fetchSecrets(ctx context.Context, all []compiledSecret, t target) ([]compiledSecret, error) {
	out := slices.DeleteFunc(slices.Clone(all), func(s compiledSecret) bool { return s.Fetch != nil && !s.appliesToTarget(t) })
	for i := range out {
		s := &out[i]
		if s.Fetch == nil {
			continue
		}
		value, err := s.Fetch(ctx)
		if err != nil {
			return nil, fmt.Errorf("network: refused a request to %s: %w", t.displayName(), err)
		}
		s.Value, s.Placeholder, s.Fetch = value, NewPlaceholder(len(value)), nil
		checked, err := compileSecret(s.Secret)
		if err != nil {
			return nil, fmt.Errorf("network: refused a request to %s: %w", t.displayName(), err)
		}
		*s = checked
	}
	return out, nil
}

// appliesToTarget reports whether a secret may be sent to a target.
func (b *compiledSecret) appliesToTarget(t target) bool {
	return slices.ContainsFunc(b.entries, func(e hostPattern) bool {
		return e.matchesHost(t) && (t.port == e.port || e.port == 0 && t.port == 443)
	})
}

// matchesHost reports whether a secret is for the host of a target, on any port.
func (b *compiledSecret) matchesHost(t target) bool {
	return slices.ContainsFunc(b.entries, func(e hostPattern) bool { return e.matchesHost(t) })
}

// insertedHeaderValue returns the header value with the secret inserted into the template.
func (b *compiledSecret) insertedHeaderValue() string {
	return strings.Replace(b.Template, valueMarker, b.Value, 1)
}

// injectSecrets replaces the placeholders of secrets in the header of a request by the values, and returns the redactor
// for the response. It returns an error if a placeholder is in a part of the request where no value may replace it.
func injectSecrets(secrets []compiledSecret, t target, r *http.Request, secure bool) (redactor, error) {
	var red redactor
	for i := range secrets {
		s := &secrets[i]
		applies := (secure || s.Plain) && s.appliesToTarget(t)
		if !secure && !s.Plain && s.matchesHost(t) {
			return red, fmt.Errorf("network: refused a request to %s without TLS, as the secret %s is bound to it; use https",
				t.displayName(), s.Name)
		}
		if part := s.findStrayPlaceholder(r, applies); part != "" {
			if applies {
				return red, fmt.Errorf("network: refused a request to %s with the secret %s in %s; it goes only into %s",
					t.displayName(), s.Name, part, s.Header)
			}
			return red, fmt.Errorf("network: refused a request to %s with the secret %s; setting secrets.%[2]s.hosts",
				t.displayName(), s.Name)
		}
		if applies {
			red = red.withSecret(s.Value, s.Placeholder)
		}
	}
	done := map[string]bool{}
	for i := range secrets {
		s := &secrets[i]
		if !secure && !s.Plain || !s.appliesToTarget(t) || done[s.Header] {
			continue
		}
		values, found := r.Header[s.Header]
		if !found {
			r.Header.Set(s.Header, s.insertedHeaderValue())
			done[s.Header] = true
		}
		for _, v := range values {
			if credentials, ok := decodeBasicCredentials(v); ok && strings.Contains(credentials, s.Placeholder) {
				real, dummy := injectIntoCredentials(secrets, t, credentials), encodeBase64(credentials)
				r.Header.Set(s.Header, "Basic "+real)
				red = red.withSecret(real, dummy)
				done[s.Header] = true
			} else if strings.Contains(v, s.Placeholder) {
				r.Header.Set(s.Header, s.insertedHeaderValue())
				done[s.Header] = true
			}
		}
	}
	return red, nil
}

// injectIntoCredentials replaces placeholders in Basic credentials by secret values, and encodes the credentials.
func injectIntoCredentials(secrets []compiledSecret, t target, credentials string) string {
	for i := range secrets {
		if s := &secrets[i]; s.appliesToTarget(t) {
			credentials = strings.ReplaceAll(credentials, s.Placeholder, s.Value)
		}
	}
	return encodeBase64(credentials)
}

func encodeBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// findStrayPlaceholder names a part of a request that contains the placeholder although no value may replace it there;
// empty for none.
func (b *compiledSecret) findStrayPlaceholder(r *http.Request, applies bool) string {
	has := func(text string) bool { return strings.Contains(text, b.Placeholder) }
	if unescaped, err := url.QueryUnescape(r.URL.RawQuery); has(r.RequestURI) || has(r.URL.String()) ||
		has(r.URL.Path) || err == nil && has(unescaped) {
		return "the URL"
	}
	for key, values := range r.Header {
		if strings.Contains(strings.ToLower(key), strings.ToLower(b.Placeholder)) {
			return "the name of a header"
		}
		for _, v := range values {
			credentials, _ := decodeBasicCredentials(v)
			if (has(v) || has(credentials)) && (!applies || key != b.Header) {
				return "the header " + key
			}
		}
	}
	return ""
}

// decodeBasicCredentials decodes the credentials in the value of a Basic authorization header.
func decodeBasicCredentials(value string) (string, bool) {
	scheme, encoded, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "Basic") {
		return "", false
	}
	encoded = strings.TrimRight(strings.TrimSpace(encoded), "=")
	decoded, err := base64.RawStdEncoding.DecodeString(encoded)
	return string(decoded), err == nil
}

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
