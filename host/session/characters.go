package session

import (
	"bytes"
	"slices"
	"sync"
	"unicode/utf8"
)

// ForwardWholeCharacters wraps events so that no piece of output ends within a character. Invalid UTF-8 becomes U+FFFD.
// The caller calls end after the call, to flush a partial character. For nil events, whole is nil.
func ForwardWholeCharacters(events func(CallEvent)) (whole func(CallEvent), end func()) {
	if events == nil {
		return nil, func() {}
	}
	c := &partialCharacterBuffer{events: events}
	return c.forwardEvent, c.flushPartial
}

// partialCharacterBuffer forwards a call's output at character boundaries. It keeps an incomplete UTF-8 character of
// each stream until the next piece of output completes it.
type partialCharacterBuffer struct {
	events func(CallEvent)

	mu             sync.Mutex // held while events are forwarded, to keep their order
	output, stderr []byte
}

func (c *partialCharacterBuffer) forwardEvent(e CallEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Output == nil {
		c.events(e)
		return
	}
	waiting := &c.output
	if e.Stderr {
		waiting = &c.stderr
	}
	data := e.Output
	if len(*waiting) > 0 {
		data = append(*waiting, data...)
	}
	end := len(data) - partialCharacterLength(data)
	*waiting = slices.Clone(data[end:])
	c.emitOutput(data[:end], e.Stderr)
}

func (c *partialCharacterBuffer) flushPartial() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emitOutput(c.output, false)
	c.emitOutput(c.stderr, true)
	c.output, c.stderr = nil, nil
}

func (c *partialCharacterBuffer) emitOutput(data []byte, stderr bool) {
	if len(data) > 0 {
		c.events(CallEvent{Output: bytes.ToValidUTF8(data, []byte("\uFFFD")), Stderr: stderr})
	}
}

// partialCharacterLength returns the length of the incomplete UTF-8 character at the end of data; 0 for none.
func partialCharacterLength(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if last := data[len(data)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}
