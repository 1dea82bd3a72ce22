package supervise

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"

	"github.com/picoclaw/picoclaw/internal/stdio"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// maxIdleStreams is the number of idle streams kept for later calls.
const maxIdleStreams = 8

// callStream is a gRPC stream that carries one call at a time.
type callStream struct {
	pluginpb.Plugin_CallClient
	cancel context.CancelFunc
}

// CallCallbacks receives the events of a call before its result, in order.
type CallCallbacks struct {
	Ready func()                    // called when the instance is ready; may be nil
	Event func(*pluginpb.CallEvent) // may be nil
	// Answer answers a question of the tool, after as long as a person needs; nil if nobody can answer.
	Answer func(*pluginpb.Question) *pluginpb.Answer
}

// streamPool holds an instance's gRPC streams for calls. A new stream costs as much as a small call, so streams are
// reused after a result.
type streamPool struct {
	rpc pluginpb.PluginClient

	mu     sync.Mutex
	closed bool
	idle   []*callStream
}

func (s *streamPool) acquireStream() (*callStream, error) {
	s.mu.Lock()
	if last := len(s.idle) - 1; last >= 0 {
		st := s.idle[last]
		s.idle = s.idle[:last]
		s.mu.Unlock()
		return st, nil
	}
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background()) // the stream outlives this call
	stream, err := s.rpc.Call(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return &callStream{stream, cancel}, nil
}

// releaseStream puts a stream back into the pool for later calls. Call it only after the stream delivered its result.
func (s *streamPool) releaseStream(st *callStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.idle) == maxIdleStreams {
		st.cancel()
		return
	}
	s.idle = append(s.idle, st)
}

// closePool closes idle streams; the others close after their calls.
func (s *streamPool) closePool() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, st := range s.idle {
		st.cancel()
	}
	s.idle = nil
}

// callTool makes one call on a stream. If ctx ends before the result, it closes the stream, which cancels the call.
func (s *streamPool) callTool(ctx context.Context, req *pluginpb.CallRequest, listener CallCallbacks) (*pluginpb.Result, error) {
	if deadline, ok := ctx.Deadline(); ok {
		req.TimeoutMillis = max(1, time.Until(deadline).Milliseconds())
	}
	req.Answers = listener.Answer != nil
	st, err := s.acquireStream()
	if err != nil {
		return nil, err
	}
	stopCancel := context.AfterFunc(ctx, st.cancel)
	result, err := callOnStream(ctx, st, req, listener)
	if stopCancel() && err == nil {
		s.releaseStream(st)
	} else {
		st.cancel()
	}
	return result, err
}

// callOnStream sends a request, then passes on events and answers questions until the result arrives, or ctx ends.
func callOnStream(ctx context.Context, st *callStream, req *pluginpb.CallRequest, listener CallCallbacks) (*pluginpb.Result, error) {
	// Ignore Send's error, which is only io.EOF: Recv returns the cause.
	_ = st.Send(req)
	for {
		event, err := st.Recv()
		if err != nil {
			return nil, err
		}
		if result := event.GetResult(); result != nil {
			return result, nil
		}
		if q := event.GetQuestion(); q != nil {
			answer := &pluginpb.Answer{Error: "nobody can answer, according to the request"}
			if listener.Answer != nil {
				answer = listener.Answer(q)
			}
			if err := ctx.Err(); err != nil { // meanwhile
				return nil, err
			}
			answer.Id = q.GetId()
			_ = st.Send(&pluginpb.CallRequest{Answer: answer})
		} else if listener.Event != nil {
			listener.Event(event)
		}
	}
}

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
