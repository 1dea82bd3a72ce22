// Package audit keeps the record of every call: one line of JSON each, in a file that only its owner can read.
//
// It must not know how a call is decided or made; it is told, and writes it down.
package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"
)

// Record is what is kept of one call.
type Record struct {
	Time     time.Time      `json:"time"`
	Agent    string         `json:"agent"`
	Session  string         `json:"session"`
	Origin   string         `json:"origin"`
	Tool     string         `json:"tool"` // full name, or what the caller asked for if there is no such tool
	Args     map[string]any `json:"args,omitempty"`
	Decision string         `json:"decision"` // allow, ask or deny
	Rule     string         `json:"rule,omitempty"`
	Millis   float64        `json:"ms"`           // from the call's arrival to its answer
	Bytes    int            `json:"result_bytes"` // text and structured result together
	Error    string         `json:"error,omitempty"`
}

// maxValue is how much of one argument is kept, in bytes. What is longer is cut and its length told.
const maxValue = 256

// Log is an open audit log. It may be used concurrently.
type Log struct {
	mu   sync.Mutex
	file *os.File
}

// Open opens the log at a path, and makes it and its directory if need be.
func Open(path string) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return &Log{file: f}, nil
}

// Write adds a record. The line is written in one piece, so that several hosts can share a file.
func (l *Log) Write(r Record) error {
	r.Args = cut(r.Args)
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// Close puts the log on disk and closes it.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.file.Sync(); err != nil {
		_ = l.file.Close()
		return fmt.Errorf("close the audit log: %w", err)
	}
	return l.file.Close()
}

// cut returns a copy of arguments with long values shortened.
func cut(args map[string]any) map[string]any {
	if args == nil {
		return nil
	}
	short := make(map[string]any, len(args))
	for name, value := range args {
		short[name] = cutValue(value)
	}
	return short
}

func cutValue(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) <= maxValue {
			return v
		}
		end := maxValue
		for end > 0 && !utf8.RuneStart(v[end]) {
			end--
		}
		return fmt.Sprintf("%s… (%d bytes)", v[:end], len(v))
	case map[string]any:
		return cut(v)
	case []any:
		const maxItems = 16
		short := make([]any, 0, min(len(v), maxItems+1))
		for i, item := range v {
			if i == maxItems {
				return append(short, fmt.Sprintf("… (%d items)", len(v)))
			}
			short = append(short, cutValue(item))
		}
		return short
	}
	return v
}
