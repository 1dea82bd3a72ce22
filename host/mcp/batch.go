package mcp

import (
	"bytes"
	"fmt"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxBatch is how many messages may come as one.
const maxBatch = 100

// batch is the answers to messages that came as one, as JSON-RPC has it and version 2025-03-26 of the protocol. They
// go back as one, too.
type batch struct {
	mu      sync.Mutex
	missing int
	answers [][]byte
}

// add takes an answer that is missing. With the last one it returns them all.
func (b *batch) add(answer []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, answer)
	if b.missing--; b.missing > 0 {
		return nil
	}
	return b.whole()
}

func (b *batch) whole() []byte {
	return append(append([]byte("["), bytes.Join(b.answers, []byte(","))...), ']')
}

// takeBatch is take for a line of several messages. What is none of them is answered with the others.
func (c *lines) takeBatch(line []byte) []jsonrpc.Message {
	var parts []jsontext.Value
	err := jsonv2.Unmarshal(line, &parts, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err == nil && (len(parts) == 0 || len(parts) > maxBatch) {
		err = fmt.Errorf("a batch has 1 to %d messages, not %d", maxBatch, len(parts))
	}
	if err != nil {
		c.refuse(nil, codeOf(line), err)
		return nil
	}
	b := new(batch)
	var messages []jsonrpc.Message
	for _, part := range parts {
		message, err := decode(part)
		if err == nil {
			err = c.expect(message, b)
		}
		if err != nil {
			b.answers = append(b.answers, refusal(idIn(part), jsonrpc.CodeInvalidRequest, err.Error()))
			continue
		}
		messages = append(messages, message)
	}
	switch {
	case b.missing > 0:
		c.owing.Add(1)
	case len(b.answers) > 0:
		_ = c.send(b.whole()) // the next message will meet the same stream
	}
	return messages
}
