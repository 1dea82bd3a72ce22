package serve

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/hashicorp/go-hclog"
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

// bridge hands what is logged to hclog, whose lines go-plugin knows. Names of attributes in groups have the groups' before
// them.
type bridge struct {
	to     hclog.Logger
	prefix string
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

func (b *bridge) Enabled(_ context.Context, l slog.Level) bool { return levelOf(l) >= b.to.GetLevel() }

func (b *bridge) Handle(_ context.Context, r slog.Record) error {
	var args []any
	r.Attrs(func(a slog.Attr) bool {
		args = flat(args, b.prefix, a)
		return true
	})
	b.to.Log(levelOf(r.Level), r.Message, args...)
	return nil
}

func (b *bridge) WithAttrs(attrs []slog.Attr) slog.Handler {
	var args []any
	for _, a := range attrs {
		args = flat(args, b.prefix, a)
	}
	return &bridge{b.to.With(args...), b.prefix}
}

func (b *bridge) WithGroup(name string) slog.Handler {
	if name == "" {
		return b
	}
	return &bridge{b.to, b.prefix + name + "."}
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
