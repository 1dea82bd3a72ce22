package session

import (
	"bytes"
	"slices"
	"sync"
	"unicode/utf8"
)

// InCharacters returns what passes a call's events on with output in whole characters, whose pieces a plugin may cut
// anywhere. What is no character becomes U+FFFD. end is to be called when the call has ended, and passes on what then
// still waits for its rest. Without events there is nothing to pass on.
func InCharacters(events func(Event)) (whole func(Event), end func()) {
	if events == nil {
		return nil, func() {}
	}
	c := &characters{events: events}
	return c.pass, c.end
}

// characters are the beginnings of characters that wait for their rest, one for each stream.
type characters struct {
	events func(Event)

	mu             sync.Mutex // held while events are passed on, so that they stay in order
	output, stderr []byte
}

func (c *characters) pass(e Event) {
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
	end := len(data) - begun(data)
	*waiting = slices.Clone(data[end:])
	c.tell(data[:end], e.Stderr)
}

func (c *characters) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell(c.output, false)
	c.tell(c.stderr, true)
	c.output, c.stderr = nil, nil
}

func (c *characters) tell(data []byte, stderr bool) {
	if len(data) > 0 {
		c.events(Event{Output: bytes.ToValidUTF8(data, []byte("\uFFFD")), Stderr: stderr})
	}
}

// begun is how many bytes at the end of data are the beginning of a character.
func begun(data []byte) int {
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
