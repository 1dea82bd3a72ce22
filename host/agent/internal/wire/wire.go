// Package wire is what providers of models over HTTP have in common: a client that tells nobody more than it has to, and
// failures as sentences without a key in them. It must not know any protocol, nor who asks.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/agent"
)

// Server is where a model is asked.
type Server struct {
	Name    string // of the model and of the host, as errors say it
	secrets []string
	client  *http.Client
}

// NewServer makes a server. The secrets are in no error; among them are the values of all headers. The client carries
// its requests, and is nil for Go's own.
func NewServer(model, base string, key string, headers map[string]string, client *http.Client) (*Server, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("model %s: its base URL is not one of http or https", model)
	}
	if model == "" {
		return nil, errors.New("the model has no name")
	}
	s := &Server{Name: fmt.Sprintf("model %s at %s", model, u.Host), client: &http.Client{}}
	if client != nil {
		*s.client = *client
	}
	s.client.Transport = quiet{s.client.Transport}
	// A key in a header of its own would follow a redirection to anybody.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.secrets = append(s.secrets, key)
	if password, ok := u.User.Password(); ok {
		s.secrets = append(s.secrets, password)
	}
	for _, value := range headers {
		s.secrets = append(s.secrets, value)
	}
	return s, nil
}

// Client is what requests are made with.
func (s *Server) Client() *http.Client { return s.client }

// quiet leaves out what SDKs tell of the machine that they run on.
type quiet struct{ next http.RoundTripper }

func (q quiet) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Stainless-") {
			r.Header.Del(name)
		}
	}
	r.Header.Set("User-Agent", "picoclaw")
	if q.next == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	return q.next.RoundTrip(r)
}

// shortestSecret is what can be cut out of a text without spoiling it.
const shortestSecret = 6

// longestWords is how much of a server's own words an error has.
const longestWords = 600

// words are a server's or a library's, without secrets and in one line.
func (s *Server) words(text string) string {
	for _, secret := range s.secrets {
		if len(secret) >= shortestSecret {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > longestWords {
		text = strings.ToValidUTF8(text[:longestWords], "") + " …"
	}
	return text
}

// tooLong is what servers say when a conversation is larger than the model's context window.
var tooLong = regexp.MustCompile(`(?i)context_length_exceeded|context[ _](length|window|size)|prompt is too long|` +
	`too many (input )?tokens|input is too long`)

// Refused is the error of an answer with another status than 200. Message is what the server says.
func (s *Server) Refused(status int, header http.Header, message string) *agent.ModelError {
	e := &agent.ModelError{
		Status: status, RetryAfter: retryAfter(header, time.Now()),
		TooLong: (status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge) && tooLong.MatchString(message),
	}
	e.Message = strings.TrimSpace(fmt.Sprintf("%s answered %d %s", s.Name, status, http.StatusText(status)))
	if 300 <= status && status < 400 {
		message = "it is elsewhere, and the key is not sent there; set the base URL to where it is now"
	}
	if message = s.words(message); message != "" {
		e.Message += ": " + message
	}
	return e
}

// retryAfter is how long a server asks to wait.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const longest = 1e6 // seconds; more is nonsense
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, longest) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// Malformed is the error of an answer that is not one.
func (s *Server) Malformed(format string, args ...any) *agent.ModelError {
	return &agent.ModelError{Status: http.StatusOK,
		Message: fmt.Sprintf("%s sent a malformed answer: %s", s.Name, s.words(fmt.Sprintf(format, args...)))}
}

// Broken is the error of an answer that has not come, or not to its end; nil stands for an end that came too early. It
// is that of the context if somebody has given up.
func (s *Server) Broken(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSilent):
		err = errSilent
	case cause != nil:
		return cause
	case err == nil:
		err = errors.New("the answer broke off in the middle")
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // its text has the URL, which may have a secret
	}
	return &agent.ModelError{Message: fmt.Sprintf("%s has not answered: %s", s.Name, s.words(err.Error()))}
}

// longestSilence is how long a server may say nothing.
const longestSilence = 10 * time.Minute

var errSilent = fmt.Errorf("it said nothing for %s", longestSilence)

// Listen returns a context that ends when the server has been silent for long. heard is to be called when it was not.
func Listen(ctx context.Context) (listening context.Context, heard, end func()) {
	listening, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(longestSilence, func() { cancel(errSilent) })
	return listening, func() { timer.Reset(longestSilence) }, func() {
		timer.Stop()
		cancel(nil)
	}
}

// Encode is the JSON of a request, with texts as they are.
func Encode(body any) ([]byte, error) {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	err := out.Encode(body)
	return text.Bytes(), err
}
