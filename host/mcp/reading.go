package mcp

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// read passes messages on until the stream ends or the connection is closed. It may then still wait for the stream,
// which is not its to close.
//
// Who has read a call makes it, while another goroutine reads on: to wake one up takes as long as a tenth of a small call.
func (c *lines) read(r *bufio.Reader) {
	for r != nil {
		call, goesOn := c.readNext(r)
		if !goesOn {
			return
		}
		if call != nil {
			c.handOver(r)
			call()
			r = c.takeOver()
		}
	}
}

// readNext reads one line. It returns the call that is to be made of it, nil if there is none, and whether the connection goes
// on.
func (c *lines) readNext(r *bufio.Reader) (call func(), goesOn bool) {
	line, id, err := readFrame(r)
	c.awaitBeginning()
	size := len(line)
	switch {
	case errors.Is(err, errFrameTooLong):
		c.refuse(id, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes; send less at a time", maxFrame))
		size, goesOn = maxFrame, true
	case err != nil:
		c.whileTrue(c.isOwing, c.patience)
		close(c.over)
		c.hand(incoming{err: err})
		return nil, false
	case isBatch(line):
		goesOn = c.readBatch(line)
	case len(line) > 0:
		call, goesOn = c.readOne(line)
	default:
		goesOn = true
	}
	c.tidy.Passed(size)
	return call, goesOn
}

// handOver has another goroutine read on.
func (c *lines) handOver(r *bufio.Reader) {
	select {
	case c.reader <- r:
	default:
		go c.read(r)
	}
}

// idleReaders is how many goroutines wait for reading on. Their stacks have grown to what a call takes, which a new one has to
// do first; few clients make more calls at a time.
const idleReaders = 2

// takeOver waits for being the one that reads on. It returns nil if there are enough who wait, or there is nothing more to read.
func (c *lines) takeOver() *bufio.Reader {
	defer c.idle.Add(-1)
	if c.idle.Add(1) > idleReaders {
		return nil
	}
	select {
	case r := <-c.reader:
		return r
	case <-c.closed:
		return nil
	}
}

// readOne takes a message.
func (c *lines) readOne(line []byte) (call func(), goesOn bool) {
	message, err := decode(line)
	if err != nil {
		c.refuse(idOf(line), codeOf(line), fmt.Sprintf("not a JSON-RPC 2.0 message: %.200s", err))
		return nil, true
	}
	if r, ok := message.(*jsonrpc.Request); ok && r.IsCall() {
		if err := c.expect(r, nil); err != nil {
			c.refuse(idOf(line), jsonrpc.CodeInvalidRequest, err.Error())
			return nil, true
		}
	}
	return c.pass(message)
}

// expect takes a request for one that is due, or says why it can't be.
func (c *lines) expect(r *jsonrpc.Request, of *batch) error {
	if strings.HasPrefix(r.Method, "notifications/") { // the library would do it all the same
		return fmt.Errorf("%s is a notification, and has no id", r.Method)
	}
	if of != nil {
		if err := apart(r); err != nil {
			return err
		}
	}
	return c.due.add(r, of)
}

// pass has a message dealt with. It returns the call that is to be made of it, nil if there is none, and whether the connection
// goes on.
func (c *lines) pass(message jsonrpc.Message) (call func(), goesOn bool) {
	if r, ok := message.(*jsonrpc.Request); ok {
		if d := c.direct.Load(); d != nil {
			if call, ok := d.takes(r); ok {
				return call, true
			}
		}
	}
	return nil, c.hand(incoming{message: message})
}

// hand gives the library what came in, and says whether the connection goes on.
func (c *lines) hand(in incoming) bool {
	select {
	case c.incoming <- in:
		return true
	case <-c.closed:
		return false
	}
}

// awaitBeginning waits until a session that is about to begin has begun: it says whether there are batches, and its answer
// is the first that a client expects, which may have sent all that it wants to ask at once.
func (c *lines) awaitBeginning() {
	begun := c.due.beginnings()
	if begun == nil {
		return
	}
	impatient := time.NewTimer(endGrace)
	defer impatient.Stop()
	select {
	case <-begun:
	case <-c.closed:
	case <-impatient.C:
	}
}

// isOwing says whether answers are due that somebody reads.
func (c *lines) isOwing() bool { return c.due.any() && (c.gone == nil || !c.gone()) }

// whileTrue waits while a condition holds, until somebody closes the connection, or the patience is at its end.
func (c *lines) whileTrue(holds func() bool, patience time.Duration) {
	impatient := time.NewTimer(patience)
	defer impatient.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for holds() {
		select {
		case <-look.C:
		case <-c.closed:
			return
		case <-impatient.C:
			return
		}
	}
}
