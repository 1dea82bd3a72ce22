package session

import (
	"encoding/json"
	"log/slog"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Event is what a call has to tell before its result: a piece of output, a message for the log, or progress.
type Event struct {
	Output []byte // what the tool prints, as it comes; nil for the others
	Stderr bool   // the output is of the error stream

	Log *Log // nil for the others

	Done, Total float64 // in any unit; Total is 0 when not known
	Message     string
}

// Log is a message of a tool's for its caller's log. The host has it in its own.
type Log struct {
	Level      slog.Level // from info on
	Message    string
	Attributes json.RawMessage // a JSON object; nil if there are none
}

// levels are the wire's levels. What is not known is info.
var levels = map[pluginpb.Log_Level]slog.Level{
	pluginpb.Log_LEVEL_WARNING: slog.LevelWarn,
	pluginpb.Log_LEVEL_ERROR:   slog.LevelError,
}

// attributes are those of a message, as far as the plugin has kept to the wire.
func attributes(l *pluginpb.Log) json.RawMessage {
	if text := l.GetAttributes(); len(text) > 0 && json.Valid(text) {
		return text
	}
	return nil
}

// translate turns the wire's events into the caller's.
func translate(events func(Event)) func(*pluginpb.CallEvent) {
	if events == nil {
		return nil
	}
	return func(e *pluginpb.CallEvent) {
		if o := e.GetOutput(); o != nil {
			events(Event{Output: o.GetData(), Stderr: o.GetStream() == pluginpb.Output_STREAM_STDERR})
		}
		if p := e.GetProgress(); p != nil {
			events(Event{Done: p.GetDone(), Total: p.GetTotal(), Message: p.GetMessage()})
		}
		if l := e.GetLog(); l != nil {
			events(Event{Log: &Log{Level: levels[l.GetLevel()], Message: l.GetMessage(), Attributes: attributes(l)}})
		}
	}
}
