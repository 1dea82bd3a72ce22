package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// batched is the one version of the protocol in which several messages may come as one, in an array.
const batched = "2025-03-26"

// The bounds of a batch: its messages, and the bytes of their answers, which are kept until the last one is there.
const (
	maxBatch        = 100
	maxBatchAnswers = maxFrame
)

// apart is the error for a request that can't be part of a batch: one begins what batches are of, the other ends when it is
// told to, and would hold up the answers to all. It is nil for all else.
func apart(r *jsonrpc.Request) error {
	if begins(r) || r.Method == "subscriptions/listen" {
		return fmt.Errorf("%s can't be part of a batch; send it by itself", r.Method)
	}
	return nil
}

// batch is the answers to messages that came as one. They go back as one.
type batch struct {
	mu      sync.Mutex
	missing int
	answers []byte // with a [ before the first one and a comma before each other
}

// add takes an answer that is missing. With the last one it returns the line to send, which has them all.
func (b *batch) add(id jsonrpc.ID, answer []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	answer = bytes.TrimSpace(answer)
	if len(b.answers)+len(answer) > maxBatchAnswers {
		answer = refusal(appendID(nil, id), jsonrpc.CodeInternalError, fmt.Sprintf(
			"this was done, but the answers to its batch are longer than %d bytes together; ask for what is long by itself", maxBatchAnswers))
	}
	separator := byte(',')
	if len(b.answers) == 0 {
		separator = '['
	}
	b.answers = append(append(b.answers, separator), answer...)
	if b.missing--; b.missing > 0 {
		return nil
	}
	return append(b.answers, ']', '\n')
}

// isBatch says of a message that it is one of several, or is meant to be.
func isBatch(message []byte) bool {
	message = bytes.TrimSpace(message)
	return len(message) > 0 && message[0] == '['
}

// split takes a batch apart. What its messages are worth is for others to say.
func split(data []byte) ([]jsontext.Value, error) {
	var list []jsontext.Value
	if err := jsonv2.Unmarshal(data, &list, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, unread(data)
	}
	switch n := len(list); {
	case n == 0:
		return nil, errors.New("it is an array with nothing in it; send one message at a time")
	case n > maxBatch:
		return nil, fmt.Errorf("it is an array of %d messages; a batch has at most %d", n, maxBatch)
	}
	return list, nil
}

// noBatch is why there are no batches in a session, whose version may not be known.
func noBatch(version string) error {
	if version == "" {
		return errors.New("it is an array, not an object; send one message at a time")
	}
	return fmt.Errorf("it is an array, which version %s of the protocol does not have; send one message at a time", version)
}

// readBatch takes several messages that came as one, and says whether the connection goes on.
func (c *lines) readBatch(line []byte) bool {
	list, err := split(line)
	if version := c.version(); err == nil && version != batched {
		err = noBatch(version)
	}
	if err != nil {
		c.refuse(nil, codeOf(line), fmt.Sprintf("not a JSON-RPC 2.0 message: %.200s", err))
		return true
	}
	b := new(batch)
	var messages []jsonrpc.Message
	var refusals [][]byte
	for _, one := range list {
		message, err := decode(one)
		if err != nil {
			err = fmt.Errorf("not a JSON-RPC 2.0 message: %w", err)
		} else if r, ok := message.(*jsonrpc.Request); ok && r.IsCall() {
			if err = c.expect(r, b); err == nil {
				b.missing++
			}
		}
		if err != nil {
			refusals = append(refusals, refusal(idOf(one), jsonrpc.CodeInvalidRequest, err.Error()))
		} else {
			messages = append(messages, message)
		}
	}
	b.missing += len(refusals) // before any answer is there
	for _, answer := range refusals {
		_ = c.reply(asked{batch: b}, jsonrpc.ID{}, answer) // the next message will meet the same stream
	}
	for _, message := range messages {
		call, goesOn := c.pass(message)
		if !goesOn {
			return false
		}
		if call != nil {
			go call()
		}
	}
	return true
}

// sound says what is wrong with a batch that the library is to answer, nil if nothing is. It takes a batch as a whole.
func sound(body []byte) error {
	list, err := split(body)
	if err != nil {
		return err
	}
	d := newDue()
	for i, one := range list {
		message, err := decode(one)
		if r, ok := message.(*jsonrpc.Request); err == nil && ok && r.IsCall() {
			if err = apart(r); err == nil {
				err = d.add(r, nil)
			}
			if wrong := unfit(r); err == nil && wrong != nil {
				err = wrong
			}
		}
		if err != nil {
			return fmt.Errorf("message %d of %d: %w", i+1, len(list), err)
		}
	}
	return nil
}
