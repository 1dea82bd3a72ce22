package session

import (
	"context"
	"encoding/json"
	"log/slog"

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
