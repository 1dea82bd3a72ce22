package egress

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Secret is a value that the sandbox never holds. It holds a placeholder, and the value is put in its place in one
// header of requests to the hosts that the secret is bound to.
type Secret struct {
	Name        string
	Placeholder string   // as long as the value
	Value       string   `json:"-"` // what servers get
	Hosts       []string // entries as in Rules; one without a port stands for 443
	Header      string   // such as Authorization
	Template    string   // such as "Bearer {{secret}}"
}

// String is the name. The value is to be in no log.
func (s Secret) String() string { return s.Name }

// GoString is the name.
func (s Secret) GoString() string { return s.Name }

// Check says what is wrong with a secret besides its value, which need not be known.
func (s Secret) Check() error {
	s.Value, s.Placeholder = strings.Repeat("v", minSecret), strings.Repeat("p", minSecret)
	_, err := bind(s)
	return errors.Unwrap(err) // whose it is is known
}

// slot is where a template has the value.
const slot = "{{secret}}"

// minSecret is how many bytes a secret has at least: what is shorter turns up in responses by chance.
const minSecret = 8

// Placeholder makes a text of a length that stands for no other secret.
func Placeholder(length int) string {
	var b strings.Builder
	if length >= 28 {
		b.WriteString("placeholder-")
	}
	for b.Len() < length {
		b.WriteString(rand.Text())
	}
	return b.String()[:length]
}

// bound is a secret with its hosts compiled.
type bound struct {
	Secret
	entries []entry
}

func bind(s Secret) (bound, error) {
	b := bound{Secret: s}
	wrong := func(format string, args ...any) (bound, error) {
		return b, fmt.Errorf("secret %q: %w", s.Name, fmt.Errorf(format, args...))
	}
	switch {
	case len(s.Value) < minSecret:
		return wrong("its value has fewer than %d bytes; such a value can't be told from other text", minSecret)
	case len(s.Placeholder) != len(s.Value) || s.Placeholder == s.Value:
		return wrong("its placeholder has to be another text as long as the value; make one with Placeholder")
	case len(s.Hosts) == 0:
		return wrong("it has no hosts; name those that are to get it")
	case !httpguts.ValidHeaderFieldName(s.Header):
		return wrong("%q is no name of a header; write one such as Authorization", s.Header)
	case strings.Count(s.Template, slot) != 1:
		return wrong("its value in the header has to have %s once; write one such as \"Bearer %[1]s\"", slot)
	case !httpguts.ValidHeaderFieldValue(b.filled()):
		return wrong("it has characters that no header can have, such as the end of a line; take them out")
	}
	switch b.Header = http.CanonicalHeaderKey(s.Header); b.Header {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer":
		return wrong("%s is a header of the connection; name another one", b.Header)
	}
	for _, text := range s.Hosts {
		e, err := parseEntry(text)
		if err != nil {
			return wrong("%q: %w", text, err)
		}
		if _, public := e.public(); public || e.any {
			return wrong("%q stands for everybody's hosts; name those that are to get it", text)
		}
		b.entries = append(b.entries, e)
	}
	return b, nil
}

// on reports whether a secret is for a target.
func (b *bound) on(t target) bool {
	for _, e := range b.entries {
		if e.is(t) && (t.port == e.port || e.port == 0 && t.port == 443) {
			return true
		}
	}
	return false
}

// near reports whether a secret is for a target, maybe on another port.
func (b *bound) near(t target) bool {
	for _, e := range b.entries {
		if e.is(t) {
			return true
		}
	}
	return false
}

func (b *bound) filled() string { return strings.Replace(b.Template, slot, b.Value, 1) }

// put puts the secrets that are for a target into the header of a request, and returns what redacts the response. The
// error says where a placeholder is that nothing is put in the place of.
func put(secrets []bound, t target, r *http.Request, secure bool) (redactor, error) {
	var red redactor
	for i := range secrets {
		s := &secrets[i]
		here := secure && s.on(t)
		if !secure && s.near(t) {
			return red, fmt.Errorf("network: refused a request to %s without TLS, as the secret %s is bound to it; use https",
				t.shown(), s.Name)
		}
		if where := s.strays(r, here); where != "" {
			if here {
				return red, fmt.Errorf("network: refused a request to %s with the secret %s in %s; it goes only into %s",
					t.shown(), s.Name, where, s.Header)
			}
			return red, fmt.Errorf("network: refused a request to %s with the secret %s; setting secrets.%[2]s.hosts",
				t.shown(), s.Name)
		}
		if here {
			red = red.with(s.Value, s.Placeholder)
		}
	}
	set := map[string]bool{}
	for i := range secrets {
		s := &secrets[i]
		if !secure || !s.on(t) || set[s.Header] {
			continue
		}
		values, found := r.Header[s.Header]
		if !found {
			r.Header.Set(s.Header, s.filled())
			set[s.Header] = true
		}
		for _, v := range values {
			if credentials, ok := basic(v); ok && strings.Contains(credentials, s.Placeholder) {
				real, dummy := fill(secrets, t, credentials), encode(credentials)
				r.Header.Set(s.Header, "Basic "+real)
				red = red.with(real, dummy)
				set[s.Header] = true
			} else if strings.Contains(v, s.Placeholder) {
				r.Header.Set(s.Header, s.filled())
				set[s.Header] = true
			}
		}
	}
	return red, nil
}

// fill encodes credentials with the secrets in the place of their placeholders.
func fill(secrets []bound, t target, credentials string) string {
	for i := range secrets {
		if s := &secrets[i]; s.on(t) {
			credentials = strings.ReplaceAll(credentials, s.Placeholder, s.Value)
		}
	}
	return encode(credentials)
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// strays names the part of a request that has the placeholder where nothing is put in its place.
func (b *bound) strays(r *http.Request, here bool) string {
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
			credentials, _ := basic(v)
			if (has(v) || has(credentials)) && !(here && key == b.Header) {
				return "the header " + key
			}
		}
	}
	return ""
}

// basic decodes credentials of the scheme Basic.
func basic(value string) (string, bool) {
	scheme, encoded, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "Basic") {
		return "", false
	}
	encoded = strings.TrimRight(strings.TrimSpace(encoded), "=")
	decoded, err := base64.RawStdEncoding.DecodeString(encoded)
	return string(decoded), err == nil
}
