package supervise

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"

	"github.com/picoclaw/picoclaw/internal/stdio"
)

// The bounds of what a plugin logs. What it says beyond them is counted.
const (
	logBurst     = 200     // lines at once
	logRate      = 50      // lines a second, for long
	maxLogLength = 4 << 10 // bytes of one text
)

// pluginLogger writes what a plugin logs to the host's log: no more than people can read, and nothing in it that a
// terminal would take for a command or a reader for a line of its own. The process may be anybody's.
type pluginLogger struct {
	hclog.Logger
	limit   *rate.Limiter
	dropped *atomic.Int64
}

func (l pluginLogger) log(level hclog.Level, message string, args ...any) {
	if !l.enabled(level) {
		return
	}
	if !l.limit.Allow() {
		l.dropped.Add(1)
		return
	}
	if dropped := l.dropped.Swap(0); dropped > 0 {
		l.Logger.Warn("the plugin has logged too much", "lines_dropped", dropped)
	}
	clean := make([]any, len(args))
	for i, arg := range args {
		clean[i] = oneLine(fmt.Sprint(arg))
	}
	l.Logger.Log(level, oneLine(message), clean...)
}

func (l pluginLogger) enabled(level hclog.Level) bool { return level >= l.GetLevel() }

// Log implements [hclog.Logger].
func (l pluginLogger) Log(level hclog.Level, message string, args ...any) {
	l.log(level, message, args...)
}

// Trace implements [hclog.Logger].
func (l pluginLogger) Trace(message string, args ...any) { l.log(hclog.Trace, message, args...) }

// Debug implements [hclog.Logger].
func (l pluginLogger) Debug(message string, args ...any) { l.log(hclog.Debug, message, args...) }

// Info implements [hclog.Logger].
func (l pluginLogger) Info(message string, args ...any) { l.log(hclog.Info, message, args...) }

// Warn implements [hclog.Logger].
func (l pluginLogger) Warn(message string, args ...any) { l.log(hclog.Warn, message, args...) }

// Error implements [hclog.Logger].
func (l pluginLogger) Error(message string, args ...any) { l.log(hclog.Error, message, args...) }

// oneLine makes a text that is one line, and not a long one.
func oneLine(text string) string {
	if len(text) > maxLogLength {
		text = text[:maxLogLength] + "…"
	}
	return spelledOut(text, false)
}

// libraryLogger is go-plugin's logger. What the library warns of by itself, such as a process that had to be killed,
// this package has done on purpose or tells in words of its own. What a plugin logs comes by way of Named.
type libraryLogger struct{ hclog.Logger }

// Named returns the logger for what the plugin logs. Its name would be the plugin's a second time.
func (l libraryLogger) Named(string) hclog.Logger {
	return pluginLogger{l.Logger, rate.NewLimiter(logRate, logBurst), new(atomic.Int64)}
}

func (l libraryLogger) Warn(message string, args ...any) { l.Debug(message, args...) }

// tailBytes is how much of a plugin's standard error is kept to explain its end.
const tailBytes = 8 << 10

// tail keeps the last of what a plugin has said.
type tail struct{ *stdio.Tail }

func newTail() *tail { return &tail{stdio.NewTail(tailBytes)} }

// String returns what is kept, from the first whole line on. What a terminal would take for a command is spelled out:
// it ends up in front of people.
func (t *tail) String() string {
	text, full := t.Text()
	if full {
		if _, rest, found := strings.Cut(text, "\n"); found {
			text = rest
		}
	}
	return strings.TrimSpace(spelledOut(text, true))
}

// spelledOut writes what can't be seen as Go writes it in a string, but for line ends and tabs where there may be
// several lines.
func spelledOut(text string, lines bool) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if !unicode.IsPrint(r) && (!lines || r != '\n' && r != '\t') {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
