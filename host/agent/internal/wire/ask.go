package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/agent"
)

// ReplyAssembler builds a reply from the events of a response.
type ReplyAssembler interface {
	// AddData adds the data of an event, and reports whether it is the last. An error the server sends is a
	// [EventError].
	AddData(data []byte) (last bool, err error)
	// IsComplete reports whether the server ended the answer. Some servers send more afterwards.
	IsComplete() bool
	// BuildReply returns the reply, whose extra data is valid for the same protocol and host.
	BuildReply(from string) (*agent.ModelReply, error)
}

// EventError is an error that a server sends within a response.
type EventError json.RawMessage

func (t EventError) Error() string { return string(t) }

// maxAnswerBytes limits the size of a response.
const maxAnswerBytes = 64 << 20

// PostRequest posts a body to a path below the base URL, and assembles the reply from the response.
func (s *ModelClient) PostRequest(ctx context.Context, path string, body []byte, a ReplyAssembler) (*agent.ModelReply, error) {
	ctx, heard, end := withSilenceTimeout(ctx)
	defer end()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, s.connectionError(ctx, err)
	}
	r.Header = s.header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if r.UserAgent() == "" {
		r.Header.Set("User-Agent", "picoclaw")
	}
	response, err := s.client.Do(r)
	if err != nil {
		return nil, s.connectionError(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, s.statusError(response)
	}
	last := false
	for data, err := range responseEvents(response) {
		heard()
		if err != nil {
			return nil, s.connectionError(ctx, err)
		}
		last, err = a.AddData(data)
		if told, ok := errors.AsType[EventError](err); ok {
			status, message := parseError(json.RawMessage(told))
			return nil, s.responseError(status, nil, message)
		}
		if err != nil {
			return nil, s.malformedError(err)
		}
		if last {
			break
		}
	}
	if !last && !a.IsComplete() {
		return nil, s.connectionError(ctx, nil)
	}
	reply, err := a.BuildReply(s.Protocol)
	if err != nil {
		return nil, s.malformedError(err)
	}
	return reply, nil
}

// responseEvents returns the data of a response's events. A response without streaming is one event.
func responseEvents(response *http.Response) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		body := http.MaxBytesReader(nil, response.Body, maxAnswerBytes)
		if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind == "application/json" {
			yield(io.ReadAll(body))
			return
		}
		readEvents(body)(yield)
	}
}

// statusError returns the error for a response whose status is not 200.
func (s *ModelClient) statusError(response *http.Response) error {
	said, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		said = nil // the status is enough
	}
	var answer struct{ Error json.RawMessage }
	message := string(said)
	if json.Unmarshal(said, &answer) == nil && len(answer.Error) > 0 {
		_, message = parseError(answer.Error)
	}
	return s.responseError(response.StatusCode, response.Header, message)
}

// silenceTimeout limits the time without data from a server.
const silenceTimeout = 10 * time.Minute

var errSilent = fmt.Errorf("no data for %s", silenceTimeout)

// withSilenceTimeout returns a context that ends when the caller has not called heard for silenceTimeout.
func withSilenceTimeout(ctx context.Context) (listening context.Context, heard, end func()) {
	listening, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(silenceTimeout, func() { cancel(errSilent) })
	return listening, func() { timer.Reset(silenceTimeout) }, func() {
		timer.Stop()
		cancel(nil)
	}
}

// EncodeOrNil encodes a value decoded from JSON.
func EncodeOrNil(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

// CallArguments returns the arguments of a call from their text; an invalid text as a JSON string.
func CallArguments(text string) json.RawMessage {
	switch text = strings.TrimSpace(text); {
	case text == "":
		return json.RawMessage("{}")
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return EncodeOrNil(text)
}

// TextSnippet returns the beginning of a text for error messages.
func TextSnippet(raw []byte) string {
	const most = 120
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "…"
	}
	return string(raw)
}

// EncodeBody returns a request as JSON without HTML escapes, merged with the extra fields of the endpoint.
func EncodeBody(body, extra map[string]any) ([]byte, error) {
	maps.Copy(body, extra)
	maps.DeleteFunc(body, func(_ string, value any) bool { return value == nil })
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	err := out.Encode(body)
	return text.Bytes(), err
}

// readEvents returns the data of the events in a text/event-stream, without surrounding space. It skips events without
// data, and an incomplete last event.
func readEvents(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxAnswerBytes)
		var data []byte
		for lines.Scan() {
			if len(lines.Bytes()) == 0 {
				if event := bytes.TrimSpace(data); len(event) > 0 && !yield(event, nil) {
					return
				}
				data = nil
				continue
			}
			field, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
			if string(field) == "data" {
				data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}
