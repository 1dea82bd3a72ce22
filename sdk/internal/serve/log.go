package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// newLogger returns a plugin's logger. Its lines are JSON for the host or plain text for people.
func newLogger(w io.Writer, name string, forHost bool) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name:       name,
		Level:      hclog.LevelFromString(os.Getenv("PICOCLAW_LOG_LEVEL")),
		Output:     w,
		JSONFormat: forHost,
	})
}

// hclogHandler is a slog handler that writes to hclog. During a call it also sends records from Info on to the caller.
// Names in groups get the group as prefix.
type hclogHandler struct {
	to     hclog.Logger
	emit   func(*pluginpb.CallEvent) // nil if no caller receives records
	prefix string
	args   []any // names and values
}

func hclogLevel(l slog.Level) hclog.Level {
	switch {
	case l >= slog.LevelError:
		return hclog.Error
	case l >= slog.LevelWarn:
		return hclog.Warn
	case l >= slog.LevelInfo:
		return hclog.Info
	case l >= slog.LevelDebug:
		return hclog.Debug
	}
	return hclog.Trace
}

func (b *hclogHandler) Enabled(_ context.Context, l slog.Level) bool {
	return hclogLevel(l) >= b.to.GetLevel() || b.emit != nil && l >= slog.LevelInfo
}

func (b *hclogHandler) Handle(_ context.Context, r slog.Record) error {
	args := slices.Clip(b.args)
	r.Attrs(func(a slog.Attr) bool {
		args = appendFlatAttribute(args, b.prefix, a)
		return true
	})
	b.to.Log(hclogLevel(r.Level), r.Message, args...)
	if b.emit != nil && r.Level >= slog.LevelInfo {
		b.emit(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_Log{Log: toLogEvent(r, args)}})
	}
	return nil
}

func (b *hclogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *b
	with.args = slices.Clip(b.args)
	for _, a := range attrs {
		with.args = appendFlatAttribute(with.args, b.prefix, a)
	}
	return &with
}

func (b *hclogHandler) WithGroup(name string) slog.Handler {
	with := *b
	if name != "" {
		with.prefix += name + "."
	}
	return &with
}

// toLogEvent converts a log record for the caller.
func toLogEvent(r slog.Record, args []any) *pluginpb.Log {
	l := &pluginpb.Log{Level: pluginpb.Log_LEVEL_INFO, Message: strings.ToValidUTF8(r.Message, "\uFFFD")}
	switch {
	case r.Level >= slog.LevelError:
		l.Level = pluginpb.Log_LEVEL_ERROR
	case r.Level >= slog.LevelWarn:
		l.Level = pluginpb.Log_LEVEL_WARNING
	}
	if len(args) == 0 {
		return l
	}
	attributes := make(map[string]any, len(args)/2)
	for i := 0; i+1 < len(args); i += 2 {
		value := args[i+1]
		if _, isText := value.(fmt.Stringer); isText {
			value = fmt.Sprint(value)
		} else if err, isError := value.(error); isError {
			value = err.Error()
		} else if _, err := json.Marshal(value); err != nil {
			value = fmt.Sprint(value)
		}
		attributes[fmt.Sprint(args[i])] = value
	}
	l.Attributes, _ = json.Marshal(attributes) // each of them can be
	return l
}

// appendFlatAttribute appends an attribute as name and value. It flattens groups.
func appendFlatAttribute(args []any, prefix string, a slog.Attr) []any {
	value := a.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		if a.Equal(slog.Attr{}) {
			return args
		}
		return append(args, prefix+a.Key, value.Any())
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, of := range value.Group() {
		args = appendFlatAttribute(args, prefix, of)
	}
	return args
}
