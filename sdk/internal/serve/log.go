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

// newLogger makes what a plugin logs to: lines that go-plugin reads at the host, or that people read.
func newLogger(w io.Writer, name string, forHost bool) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name:       name,
		Level:      hclog.LevelFromString(os.Getenv("PICOCLAW_LOG_LEVEL")),
		Output:     w,
		JSONFormat: forHost,
	})
}

// bridge hands what is logged to hclog, whose lines go-plugin knows, and during a call from info on to its caller
// too. Names of attributes in groups have the groups' before them.
type bridge struct {
	to     hclog.Logger
	emit   func(*pluginpb.CallEvent) // nil if no caller listens
	prefix string
	args   []any // names and values
}

// levelOf is the hclog level that a level falls into.
func levelOf(l slog.Level) hclog.Level {
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

func (b *bridge) Enabled(_ context.Context, l slog.Level) bool {
	return levelOf(l) >= b.to.GetLevel() || b.emit != nil && l >= slog.LevelInfo
}

func (b *bridge) Handle(_ context.Context, r slog.Record) error {
	args := slices.Clip(b.args)
	r.Attrs(func(a slog.Attr) bool {
		args = flat(args, b.prefix, a)
		return true
	})
	b.to.Log(levelOf(r.Level), r.Message, args...)
	if b.emit != nil && r.Level >= slog.LevelInfo {
		b.emit(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_Log{Log: logged(r, args)}})
	}
	return nil
}

func (b *bridge) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *b
	with.args = slices.Clip(b.args)
	for _, a := range attrs {
		with.args = flat(with.args, b.prefix, a)
	}
	return &with
}

func (b *bridge) WithGroup(name string) slog.Handler {
	with := *b
	if name != "" {
		with.prefix += name + "."
	}
	return &with
}

// logged is a message as it goes to the caller.
func logged(r slog.Record, args []any) *pluginpb.Log {
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

// flat appends an attribute as a name and a value, and those of a group one by one.
func flat(args []any, prefix string, a slog.Attr) []any {
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
		args = flat(args, prefix, of)
	}
	return args
}
