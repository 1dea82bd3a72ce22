package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/session"
)

// The versions of messages: the one that is written here, and the oldest that is read. Fields that are not known are
// passed over, so neighbours of one version between understand each other.
const (
	version = 1
	oldest  = 1
)

// envelope begins each message. Needs is the version that its reader has to know at least.
type envelope struct {
	V     int `json:"v"`
	Needs int `json:"needs,omitempty"`
}

// sealed is the envelope of what is written here.
func sealed() envelope { return envelope{V: version, Needs: oldest} }

// check says why a message can't be understood: two ends of a fleet are too far apart.
func (e envelope) check() error {
	switch {
	case e.V < oldest:
		return fmt.Errorf("the other end speaks version %d of the fleet's messages, and version %d is the oldest that is "+
			"understood here: upgrade the picoclaw there", e.V, oldest)
	case e.Needs > version:
		return fmt.Errorf("the other end speaks version %d of the fleet's messages, for which a reader needs version %d, and "+
			"this one has %d: upgrade the picoclaw here", e.V, e.Needs, version)
	}
	return nil
}

// request asks a worker for something. A call's arguments are its body: in one message, or in several that follow each
// other.
type request struct {
	envelope
	ID     string         `json:"id"`
	Epoch  uint64         `json:"epoch"`            // of the placement that the caller knows
	First  uint64         `json:"first,omitempty"`  // that of the first attempt that may have arrived; zero for none
	Life   string         `json:"life,omitempty"`   // the worker's that had the agent then
	Origin session.Origin `json:"origin,omitempty"` // cli or mcp
	Tool   string         `json:"tool,omitempty"`
	Digest string         `json:"digest,omitempty"` // of all that the call is
	Part   int            `json:"part,omitempty"`   // from 1 to Parts; both zero where there is one message
	Parts  int            `json:"parts,omitempty"`
	Events bool           `json:"events,omitempty"`  // the caller wants them
	Probe  bool           `json:"probe,omitempty"`   // no call, but a question for the state of one
	LeftMS int64          `json:"left_ms,omitempty"` // how long the caller waits; zero for as long as it takes
	Seen   uint64         `json:"seen,omitempty"`    // with credit: the last event that the caller has done with
}

// The kinds of what a worker says.
const (
	kindAnswer  = "answer"  // how the call ended; the body is its text
	kindEvent   = "event"   // the body is output
	kindRunning = "running" // the call goes on
	kindUnseen  = "unseen"  // there is no such call, and never was: it may be made
	kindMoved   = "moved"   // the epoch is not this worker's, which has had the agent for HeldMS
	kindClosing = "closing" // the call is not taken, nor will it be with this epoch
	kindBusy    = "busy"    // the call is not taken now
	kindUnknown = "unknown" // the call was begun, and nobody knows what became of it
	kindRefused = "refused" // the request is none that can be served
	kindLarge   = "large"   // the answer is an object
	kindTools   = "tools"   // the body is JSON
)

// reply is what a worker says.
type reply struct {
	envelope
	Kind   string  `json:"kind"`
	ID     string  `json:"id"`
	Epoch  uint64  `json:"epoch,omitempty"`
	Seq    uint64  `json:"seq,omitempty"` // of an event; with running that of the last one
	HeldMS int64   `json:"held_ms,omitempty"`
	Result *result `json:"result,omitempty"`
	Event  *event  `json:"event,omitempty"`
	Object string  `json:"object,omitempty"`
	Digest string  `json:"digest,omitempty"` // of the object
	Why    string  `json:"why,omitempty"`
}

// result is a [session.Result] without its text.
type result struct {
	Structured json.RawMessage   `json:"structured,omitempty"`
	Content    []session.Content `json:"content,omitempty"`
	Err        *session.Error    `json:"error,omitempty"`
	Answered   bool              `json:"answered,omitempty"`
}

// event is a [session.CallEvent] without its output.
type event struct {
	Output     bool            `json:"output,omitempty"`
	Stderr     bool            `json:"stderr,omitempty"`
	Log        bool            `json:"log,omitempty"`
	Level      slog.Level      `json:"level,omitempty"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
	Done       float64         `json:"done,omitempty"`
	Total      float64         `json:"total,omitempty"`
	Message    string          `json:"message,omitempty"`
}

func wireEvent(e session.CallEvent) (*event, []byte) {
	if e.Log != nil {
		return &event{Log: true, Level: e.Log.Level, Message: e.Log.Message, Attributes: e.Log.Attributes}, nil
	}
	return &event{Output: e.Output != nil, Stderr: e.Stderr, Done: e.Done, Total: e.Total, Message: e.Message}, e.Output
}

func (e *event) host(body []byte) session.CallEvent {
	if e.Log {
		return session.CallEvent{Log: &session.LogMessage{Level: e.Level, Message: e.Message, Attributes: e.Attributes}}
	}
	h := session.CallEvent{Stderr: e.Stderr, Done: e.Done, Total: e.Total, Message: e.Message}
	if e.Output {
		h.Output = body
	}
	return h
}

// encode writes a message: a line of JSON, and what is no JSON, or is not to be read as such, behind it.
func encode(head any, body []byte) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(512 + len(body))
	e := json.NewEncoder(&b) // ends with a line break
	e.SetEscapeHTML(false)   // or structured results would come out in other words than they went in
	if err := e.Encode(head); err != nil {
		return nil, err
	}
	b.Write(body)
	return b.Bytes(), nil
}

// decode reads a message. The body is a part of data.
func decode[T any](data []byte) (head *T, body []byte, err error) {
	line, body, whole := bytes.Cut(data, []byte("\n"))
	if !whole {
		return nil, nil, errors.New("a message of the fleet's begins with a line of JSON")
	}
	var e envelope
	head = new(T)
	if err = json.Unmarshal(line, &e); err == nil {
		if err = e.check(); err != nil {
			return nil, nil, err
		}
		err = json.Unmarshal(line, head)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("a message of the fleet's begins with a line of JSON: %w", err)
	}
	return head, body, nil
}

// The bounds of answers: a longer one than messageBytes goes through the object store, and one of more than mostLarge
// is not taken from there.
const (
	messageBytes = 1 << 20
	mostLarge    = 64 << 20
)

// fetch gets an answer from the object store. The digest has come from the worker itself.
func (f *Fleet) fetch(ctx context.Context, object, digest string) ([]byte, error) {
	var data []byte
	in, err := storage.Open(ctx, f.js, subject.Results, object)
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(in, mostLarge+1))
	}
	if err != nil {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	if len(data) > mostLarge {
		return nil, fmt.Errorf("the answer is longer than %d bytes", mostLarge)
	}
	if fmt.Sprintf("%x", sha256.Sum256(data)) != digest {
		return nil, errors.New("the answer in the object store is not the one that the worker put there")
	}
	return data, nil
}
