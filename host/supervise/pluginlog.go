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

// Limits of a plugin's log. Further lines are only counted.
const (
	logBurst     = 200     // lines at once
	logRate      = 50      // lines per second
	maxLogLength = 4 << 10 // bytes per text
)

// pluginLogger writes an untrusted plugin's log to the host's log. It limits the rate, and escapes control characters.
type pluginLogger struct {
	hclog.Logger
	limit   *rate.Limiter
	dropped *atomic.Int64
}

// logLimited logs one escaped line, or counts it if there are too many.
func (l pluginLogger) logLimited(level hclog.Level, message string, args ...any) {
	if level < l.GetLevel() {
		return
	}
	if !l.limit.Allow() {
		l.dropped.Add(1)
		return
	}
	if dropped := l.dropped.Swap(0); dropped > 0 {
		l.Logger.Warn("the plugin logged too much", "lines_dropped", dropped)
	}
	clean := make([]any, len(args))
	for i, arg := range args {
		clean[i] = truncateAndEscape(fmt.Sprint(arg))
	}
	l.Logger.Log(level, truncateAndEscape(message), clean...)
}

// Log implements [hclog.Logger].
func (l pluginLogger) Log(level hclog.Level, message string, args ...any) {
	l.logLimited(level, message, args...)
}

// Trace implements [hclog.Logger].
func (l pluginLogger) Trace(message string, args ...any) { l.logLimited(hclog.Trace, message, args...) }

// Debug implements [hclog.Logger].
func (l pluginLogger) Debug(message string, args ...any) { l.logLimited(hclog.Debug, message, args...) }

// Info implements [hclog.Logger].
func (l pluginLogger) Info(message string, args ...any) { l.logLimited(hclog.Info, message, args...) }

// Warn implements [hclog.Logger].
func (l pluginLogger) Warn(message string, args ...any) { l.logLimited(hclog.Warn, message, args...) }

// Error implements [hclog.Logger].
func (l pluginLogger) Error(message string, args ...any) { l.logLimited(hclog.Error, message, args...) }

// truncateAndEscape shortens text and escapes it to one line.
func truncateAndEscape(text string) string {
	if len(text) > maxLogLength {
		text = text[:maxLogLength] + "…"
	}
	return escapeControls(text, false)
}

// quietLibraryLogger is the logger for hashicorp/go-plugin. It logs the library's warnings at debug level, since this
// package reports the same events. The logger that Named returns is for the plugin's own log.
type quietLibraryLogger struct{ hclog.Logger }

// Named returns the logger for the plugin's log. It ignores the name, which the host's logger already has.
func (l quietLibraryLogger) Named(string) hclog.Logger {
	return pluginLogger{l.Logger, rate.NewLimiter(logRate, logBurst), new(atomic.Int64)}
}

// Warn logs at debug level.
func (l quietLibraryLogger) Warn(message string, args ...any) { l.Debug(message, args...) }

// stderrTailBytes is the size of standard error that is kept for error messages.
const stderrTailBytes = 8 << 10

// outputTail keeps the end of a plugin's output.
type outputTail struct{ *stdio.TailBuffer }

func newOutputTail() *outputTail { return &outputTail{stdio.NewTailBuffer(stderrTailBytes)} }

// String returns the kept output, starting with the first complete line. It escapes control characters.
func (t *outputTail) String() string {
	text, full := t.Text()
	if full {
		if _, rest, found := strings.Cut(text, "\n"); found {
			text = rest
		}
	}
	return strings.TrimSpace(escapeControls(text, true))
}

// escapeControls escapes unprintable characters. With lines set it keeps line ends and tabs.
func escapeControls(text string, lines bool) string {
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
