// Package wire is what providers of models over HTTP have in common: a request that tells nobody more than it has to,
// and failures as sentences without a key in them. It must not know any protocol, nor who asks.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// Server is where a model is asked.
type Server struct {
	Protocol string // and the host, which tells whose answers can be sent back
	name     string // of the model and the host, as errors say it
	url      *url.URL
	header   http.Header
	secrets  []string
	client   *http.Client
}

// NewServer makes a server that speaks a protocol, with the headers that the protocol wants. The key and the values of
// an endpoint's headers are in no error.
func NewServer(protocol string, at agent.Endpoint, header map[string]string) (*Server, error) {
	u, err := url.Parse(at.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("model %s: its base URL is not one of http or https", at.Model)
	}
	if at.Model == "" {
		return nil, errors.New("the model has no name")
	}
	s := &Server{Protocol: protocol + " " + u.Host, name: fmt.Sprintf("model %s at %s", at.Model, u.Host),
		url: u, header: http.Header{}, client: &http.Client{}}
	for _, headers := range []map[string]string{header, at.Headers} {
		for name, value := range headers {
			s.header.Set(name, value)
		}
	}
	if at.Client != nil {
		*s.client = *at.Client
	}
	// A key in a header of its own would follow a redirection to anybody.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.secrets = append(slices.Collect(maps.Values(at.Headers)), at.Key)
	if password, ok := u.User.Password(); ok {
		s.secrets = append(s.secrets, password)
	}
	return s, nil
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
var tooLong = lazyregexp.New(`(?i)context_length_exceeded|context[ _](length|window|size)|prompt is too long|` +
	`too many (input )?tokens|input is too long`)

// statuses are those that errors would have had if an answer had not begun, by their types.
var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"overloaded_error":      529,
}

// failure reads an error in any of the forms that servers tell it in.
func failure(raw json.RawMessage) (status int, message string) {
	status, message = http.StatusBadGateway, string(raw)
	var said struct {
		Message, Type string
		Code          json.RawMessage
	}
	if json.Unmarshal(raw, &said) != nil {
		_ = json.Unmarshal(raw, &message) // a plain text
		return status, message
	}
	if said.Message != "" {
		message = said.Message
	}
	var number int
	var code string
	if json.Unmarshal(said.Code, &number) == nil && 400 <= number && number < 600 {
		status = number
	} else if known, ok := statuses[said.Type]; ok {
		status = known
	}
	if json.Unmarshal(said.Code, &code) == nil && code != "" {
		message = code + ": " + message
	}
	return status, message
}

// refused is the error of an answer with another status than 200. Message is what the server says.
func (s *Server) refused(status int, header http.Header, message string) *agent.ModelError {
	e := &agent.ModelError{
		Status: status, RetryAfter: retryAfter(header, time.Now()),
		TooLong: status < 500 && status != http.StatusTooManyRequests && tooLong().MatchString(message),
	}
	e.Message = strings.TrimSpace(fmt.Sprintf("%s answered %d %s", s.name, status, http.StatusText(status)))
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

// malformed is the error of an answer that is not one.
func (s *Server) malformed(err error) *agent.ModelError {
	return &agent.ModelError{Status: http.StatusOK,
		Message: fmt.Sprintf("%s sent a malformed answer: %s", s.name, s.words(err.Error()))}
}

// broken is the error of an answer that has not come, or not to its end; nil stands for an end that came too early. It
// is that of the context if somebody has given up.
func (s *Server) broken(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSilent):
		err = errSilent
	case cause != nil:
		return cause
	case err == nil:
		err = errors.New("the answer broke off in the middle")
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		err = at.Err // its text has the URL, which may have a secret
	}
	return &agent.ModelError{Message: fmt.Sprintf("%s has not answered: %s", s.name, s.words(err.Error()))}
}
