package supervise

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
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
	bucket *bucket
}

// bucket lets through a burst of lines, and then as many a second as the rate says.
type bucket struct {
	mu      sync.Mutex
	tokens  float64
	last    time.Time
	dropped int
}

// take reports whether a line may pass, and how many have not since the last that did.
func (b *bucket) take(now time.Time) (ok bool, dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.IsZero() {
		b.tokens = logBurst
	} else {
		b.tokens = min(logBurst, b.tokens+now.Sub(b.last).Seconds()*logRate)
	}
	b.last = now
	if b.tokens < 1 {
		b.dropped++
		return false, 0
	}
	b.tokens--
	dropped, b.dropped = b.dropped, 0
	return true, dropped
}

func (l pluginLogger) log(level hclog.Level, message string, args ...any) {
	if !l.enabled(level) {
		return
	}
	ok, dropped := l.bucket.take(time.Now())
	if !ok {
		return
	}
	if dropped > 0 {
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
func (l libraryLogger) Named(string) hclog.Logger { return pluginLogger{l.Logger, &bucket{}} }

func (l libraryLogger) Warn(message string, args ...any) { l.Debug(message, args...) }
