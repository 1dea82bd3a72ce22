package session

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// CallEvent is a message of a running call: output, a log message, progress, or a changed resource.
type CallEvent struct {
	Output []byte // output as the tool prints it; nil for other events
	Stderr bool   // the output comes from stderr

	Log *LogMessage // nil for other events

	Changed string // URI of a resource with other contents; empty for other events

	Done, Total float64 // in any unit; Total is 0 if unknown
	Message     string
}

type noOutputEventsKey struct{}

// WithoutOutputEvents returns a context for a call whose caller ignores output events. The tool need not send them.
func WithoutOutputEvents(ctx context.Context) context.Context {
	return context.WithValue(ctx, noOutputEventsKey{}, true)
}

// ReadsOutputEvents reports whether the caller reads output events.
func ReadsOutputEvents(ctx context.Context) bool { return ctx.Value(noOutputEventsKey{}) == nil }

// LogMessage is a tool's message for the caller's log. The host logs it too.
type LogMessage struct {
	Level      slog.Level // Info or higher
	Message    string
	Attributes json.RawMessage // a JSON object; nil if there are none
}

// logLevels maps the levels of the plugin protocol. Unknown levels become info.
var logLevels = map[pluginpb.Log_Level]slog.Level{
	pluginpb.Log_LEVEL_WARNING: slog.LevelWarn,
	pluginpb.Log_LEVEL_ERROR:   slog.LevelError,
}

// newEventTranslator returns a function that converts a plugin's events and passes them to events.
func newEventTranslator(events func(CallEvent)) func(*pluginpb.CallEvent) {
	if events == nil {
		return nil
	}
	return func(e *pluginpb.CallEvent) {
		if o := e.GetOutput(); o != nil {
			events(CallEvent{Output: o.GetData(), Stderr: o.GetStream() == pluginpb.Output_STREAM_STDERR})
		}
		if p := e.GetProgress(); p != nil {
			events(CallEvent{Done: p.GetDone(), Total: p.GetTotal(), Message: p.GetMessage()})
		}
		if c := e.GetResourceChange(); c != nil {
			events(CallEvent{Changed: c.GetUri()})
		}
		if l := e.GetLog(); l != nil {
			m := &LogMessage{Level: logLevels[l.GetLevel()], Message: l.GetMessage()}
			if json.Valid(l.GetAttributes()) {
				m.Attributes = l.GetAttributes()
			}
			events(CallEvent{Log: m})
		}
	}
}

// ForwardWholeCharacters wraps events so that no piece of output ends within a character. Invalid UTF-8 becomes U+FFFD.
// The caller calls end after the call, to flush a partial character. For nil events, whole is nil.
func ForwardWholeCharacters(events func(CallEvent)) (whole func(CallEvent), end func()) {
	if events == nil {
		return nil, func() {}
	}
	c := &partialCharacterBuffer{events: events}
	return c.forwardEvent, c.flushPartial
}

// partialCharacterBuffer forwards a call's output at character boundaries. It keeps an incomplete UTF-8 character of
// each stream until the next piece of output completes it.
type partialCharacterBuffer struct {
	events func(CallEvent)

	mu             sync.Mutex // held while events are forwarded, to keep their order
	output, stderr []byte
}

func (c *partialCharacterBuffer) forwardEvent(e CallEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Output == nil {
		c.events(e)
		return
	}
	waiting := &c.output
	if e.Stderr {
		waiting = &c.stderr
	}
	data := e.Output
	if len(*waiting) > 0 {
		data = append(*waiting, data...)
	}
	end := len(data) - partialCharacterLength(data)
	*waiting = slices.Clone(data[end:])
	c.emitOutput(data[:end], e.Stderr)
}

func (c *partialCharacterBuffer) flushPartial() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emitOutput(c.output, false)
	c.emitOutput(c.stderr, true)
	c.output, c.stderr = nil, nil
}

func (c *partialCharacterBuffer) emitOutput(data []byte, stderr bool) {
	if len(data) > 0 {
		c.events(CallEvent{Output: bytes.ToValidUTF8(data, []byte("\uFFFD")), Stderr: stderr})
	}
}

// partialCharacterLength returns the length of the incomplete UTF-8 character at the end of data; 0 for none.
func partialCharacterLength(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if last := data[len(data)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}
