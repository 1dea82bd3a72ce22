// Package wire has the HTTP code shared by the model providers: requests, and errors that contain no key. It must not
// know any protocol, nor its callers.
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

// ModelClient sends requests to a model over HTTP.
type ModelClient struct {
	Protocol string // protocol and host, which identify stored extra data
	name     string // model and host, for errors
	url      *url.URL
	header   http.Header
	secrets  []string
	client   *http.Client
}

// NewModelClient returns a client that sends the headers of a protocol. Its errors contain neither the key nor the
// endpoint's header values.
func NewModelClient(protocol string, at agent.ModelEndpoint, header map[string]string) (*ModelClient, error) {
	u, err := url.Parse(at.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("model %s: its base URL is not one of http or https", at.Model)
	}
	if at.Model == "" {
		return nil, errors.New("the model has no name")
	}
	s := &ModelClient{Protocol: protocol + " " + u.Host, name: fmt.Sprintf("model %s at %s", at.Model, u.Host),
		url: u, header: http.Header{}, client: &http.Client{}}
	for _, headers := range []map[string]string{header, at.Headers} {
		for name, value := range headers {
			s.header.Set(name, value)
		}
	}
	// Go would send custom headers with a key to the target of a redirect.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.secrets = append(slices.Collect(maps.Values(at.Headers)), at.Key)
	if password, ok := u.User.Password(); ok {
		s.secrets = append(s.secrets, password)
	}
	return s, nil
}

// minSecretLength is the minimum length of secrets that sanitizeText removes.
const minSecretLength = 6

// maxMessageBytes limits a server's text in an error message.
const maxMessageBytes = 600

// sanitizeText shortens a server's text to one line without secrets.
func (s *ModelClient) sanitizeText(text string) string {
	for _, secret := range s.secrets {
		if len(secret) >= minSecretLength {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > maxMessageBytes {
		text = strings.ToValidUTF8(text[:maxMessageBytes], "") + " …"
	}
	return text
}

// tooLongPattern matches errors for conversations that exceed the context window.
var tooLongPattern = lazyregexp.New(`(?i)context_length_exceeded|context[ _](length|window|size)|prompt is too long|` +
	`too many (input )?tokens|input is too long`)

// errorStatuses maps the types of errors within a response to HTTP statuses.
var errorStatuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"overloaded_error":      529,
}

// parseError parses the error formats of various servers.
func parseError(raw json.RawMessage) (status int, message string) {
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
	} else if known, ok := errorStatuses[said.Type]; ok {
		status = known
	}
	if json.Unmarshal(said.Code, &code) == nil && code != "" {
		message = code + ": " + message
	}
	return status, message
}

func (s *ModelClient) responseError(status int, header http.Header, message string) *agent.ModelError {
	e := &agent.ModelError{
		Status: status, RetryAfter: retryAfter(header, time.Now()),
		TooLong: status < 500 && status != http.StatusTooManyRequests && tooLongPattern().MatchString(message),
	}
	e.Message = strings.TrimSpace(fmt.Sprintf("%s answered %d %s", s.name, status, http.StatusText(status)))
	if 300 <= status && status < 400 {
		message = "it redirects to another host, which does not get the key; set the base URL to that host"
	}
	if message = s.sanitizeText(message); message != "" {
		e.Message += ": " + message
	}
	return e
}

// retryAfter returns the delay that a server requests before a retry.
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

// malformedError returns the error for a response that can't be parsed.
func (s *ModelClient) malformedError(err error) *agent.ModelError {
	return &agent.ModelError{Status: http.StatusOK,
		Message: fmt.Sprintf("%s sent a malformed answer: %s", s.name, s.sanitizeText(err.Error()))}
}

// connectionError returns the error for a missing or incomplete response; a nil err means that the response ended
// early. It returns the context's error if the context has ended.
func (s *ModelClient) connectionError(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSilent):
		err = errSilent
	case cause != nil:
		return cause
	case err == nil:
		err = errors.New("the answer is incomplete")
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		err = at.Err // url.Error includes the URL, which may contain a secret
	}
	return &agent.ModelError{Message: fmt.Sprintf("%s has not answered: %s", s.name, s.sanitizeText(err.Error()))}
}
