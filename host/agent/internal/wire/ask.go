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

// Assembly puts an answer together.
type Assembly interface {
	// Add adds the data of an event, and reports whether it is the last one. What the server says has gone wrong is a
	// [Told].
	Add(data []byte) (last bool, err error)
	// Whole reports whether the server has said that the answer is whole. Some say no more, and others the usage.
	Whole() bool
	// Reply is the answer, kept for those that speak the protocol with the same host.
	Reply(from string) (*agent.Reply, error)
}

// Told is an error that a server tells in the middle of an answer.
type Told json.RawMessage

func (t Told) Error() string { return string(t) }

// longestAnswer is more than an answer has, in bytes.
const longestAnswer = 64 << 20

// Ask posts a body to a path below the base URL, and puts together what comes.
func (s *Server) Ask(ctx context.Context, path string, body []byte, a Assembly) (*agent.Reply, error) {
	ctx, heard, end := listen(ctx)
	defer end()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, s.broken(ctx, err)
	}
	r.Header = s.header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if r.UserAgent() == "" {
		r.Header.Set("User-Agent", "picoclaw")
	}
	response, err := s.client.Do(r)
	if err != nil {
		return nil, s.broken(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, s.refusedBy(response)
	}
	last := false
	for data, err := range events(response) {
		heard()
		if err != nil {
			return nil, s.broken(ctx, err)
		}
		last, err = a.Add(data)
		if told, ok := errors.AsType[Told](err); ok {
			status, message := failure(json.RawMessage(told))
			return nil, s.refused(status, nil, message)
		}
		if err != nil {
			return nil, s.malformed(err)
		}
		if last {
			break
		}
	}
	if !last && !a.Whole() {
		return nil, s.broken(ctx, nil)
	}
	reply, err := a.Reply(s.Protocol)
	if err != nil {
		return nil, s.malformed(err)
	}
	return reply, nil
}

// events are the data of an answer's events. That of a server that does not stream is one.
func events(response *http.Response) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		body := http.MaxBytesReader(nil, response.Body, longestAnswer)
		if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind == "application/json" {
			yield(io.ReadAll(body))
			return
		}
		readEvents(body)(yield)
	}
}

// refusedBy is the error of an answer with another status than 200.
func (s *Server) refusedBy(response *http.Response) error {
	said, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		said = nil // the status is known
	}
	var answer struct{ Error json.RawMessage }
	message := string(said)
	if json.Unmarshal(said, &answer) == nil && len(answer.Error) > 0 {
		_, message = failure(answer.Error)
	}
	return s.refused(response.StatusCode, response.Header, message)
}

// longestSilence is how long a server may say nothing.
const longestSilence = 10 * time.Minute

var errSilent = fmt.Errorf("it said nothing for %s", longestSilence)

// listen returns a context that ends when the server has been silent for long. heard is to be called when it was not.
func listen(ctx context.Context) (listening context.Context, heard, end func()) {
	listening, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(longestSilence, func() { cancel(errSilent) })
	return listening, func() { timer.Reset(longestSilence) }, func() {
		timer.Stop()
		cancel(nil)
	}
}

// Encoded is a value as JSON, which has come out of JSON.
func Encoded(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

// Snippet is the beginning of a text, for errors.
func Snippet(raw []byte) string {
	const most = 120
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "…"
	}
	return string(raw)
}

// Encode is the JSON of a request, with texts as they are and what an endpoint adds or takes away.
func Encode(body, extra map[string]any) ([]byte, error) {
	maps.Copy(body, extra)
	maps.DeleteFunc(body, func(_ string, value any) bool { return value == nil })
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	err := out.Encode(body)
	return text.Bytes(), err
}

// readEvents returns the data of the events in a text/event-stream, without surrounding space. It skips events without
// data, and the last one if no blank line ends it.
func readEvents(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, longestAnswer)
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
