// Package logs writes logs as text, [LEVEL] part: message {key=value, key=value}, or as JSON. Secrets are redacted.
//
// It must not know the sources of messages.
package logs

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/redact"
)

// rootName is the name of the logger that all others derive from.
const rootName = "picoclaw"

// NewLogger returns a logger that writes messages of at least a level, as "text" or as "json", with secrets redacted.
func NewLogger(w io.Writer, level hclog.Level, format string) hclog.Logger {
	logger := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: rootName, Level: level, Output: io.Discard})
	if level == hclog.Off {
		return logger
	}
	if format == "json" {
		logger.RegisterSink(redactingSink{hclog.NewSinkAdapter(&hclog.LoggerOptions{Level: level, Output: w, JSONFormat: true}), level})
	} else {
		logger.RegisterSink(redactingSink{&textSink{out: terminal.NewWriter(w)}, level})
	}
	return logger
}

// redactingSink redacts secrets in messages, and forwards messages from a level on.
type redactingSink struct {
	hclog.SinkAdapter
	level hclog.Level
}

// Accept forwards a message with its keys and values redacted.
func (c redactingSink) Accept(name string, level hclog.Level, message string, args ...any) {
	if level < c.level { // a sink is given everything
		return
	}
	clean := make([]any, len(args))
	for i, arg := range args {
		key := ""
		if i%2 == 1 {
			key, _ = args[i-1].(string) // what is no string is no name
		}
		switch v := arg.(type) {
		case error:
			arg = v.Error()
		case fmt.Stringer:
			arg = v.String()
		case hclog.CapturedStacktrace:
			arg = string(v)
		}
		if i%2 == 1 {
			arg = redact.RedactValue(key, arg)
		}
		clean[i] = arg
	}
	c.SinkAdapter.Accept(name, level, redact.RedactText(message), clean...)
}

// textSink writes each message as one line of text for people.
type textSink struct {
	out *terminal.Writer
	mu  sync.Mutex
}

// Accept writes one message.
func (l *textSink) Accept(name string, level hclog.Level, message string, args ...any) {
	var pairs []string
	for i := 0; i+1 < len(args); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%v=%v", args[i], args[i+1]))
	}
	if len(args)%2 == 1 {
		pairs = append(pairs, fmt.Sprint(args[len(args)-1]))
	}
	text := trimRootName(name) + ": " + message
	if len(pairs) > 0 {
		text += " {" + strings.Join(pairs, ", ") + "}"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, "%s %s\n", l.out.Paint(levelStyle(level), "["+strings.ToUpper(level.String())+"]"), terminal.CleanLine(text))
}

// trimRootName removes the prefix "picoclaw." from a logger's name.
func trimRootName(name string) string {
	if rest, ok := strings.CutPrefix(name, rootName+"."); ok {
		return rest
	}
	return name
}

func levelStyle(level hclog.Level) terminal.Style {
	switch level {
	case hclog.Error:
		return terminal.Bad
	case hclog.Warn:
		return terminal.Doubt
	case hclog.Info:
		return terminal.Name
	}
	return terminal.Faint
}
