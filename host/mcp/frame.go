package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// maxFrame is the longest message that a client may send, in bytes: the largest arguments and what is round them.
const maxFrame = pluginpb.MaxArgumentBytes + 1<<20

var errFrameTooLong = errors.New("the frame is too long")

// readFrame reads a line. One that is too long is read to its end without being kept; of it only the id is returned.
func readFrame(r *bufio.Reader) (line []byte, id json.RawMessage, err error) {
	var find idFinder
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if !long && len(line)+len(part) > maxFrame {
			long = true
			find.read(line)
			line = nil
		}
		if long {
			find.read(part)
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, find.id(), errFrameTooLong
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return bytes.TrimSpace(line), nil, nil
		case err != nil:
			return nil, nil, err
		default:
			return bytes.TrimSpace(line), nil, nil
		}
	}
}

// maxID is the longest id that is looked for, in bytes.
const maxID = 256

// idFinder finds the id of a message that passes by, so that its refusal reaches whoever waits for the answer. It is
// given the message piece by piece and keeps nothing of it but the id.
type idFinder struct {
	depth             int
	inString, escaped bool
	inValue           bool   // at the top level: behind a colon
	name              []byte // at the top level: the name before it, with its quotes, cut at maxID
	value             []byte // of the first member that is called id
	found             bool
}

func (f *idFinder) read(data []byte) {
	for _, b := range data {
		f.step(b)
	}
}

func (f *idFinder) step(b byte) {
	top := f.depth == 1
	switch {
	case f.escaped:
		f.escaped = false
	case f.inString && b == '\\':
		f.escaped = true
	case b == '"':
		f.inString = !f.inString
	case f.inString:
	case b == '{' || b == '[':
		f.depth++
	case b == '}' || b == ']':
		if f.depth--; top && string(f.name) == `"id"` {
			f.found = true
		}
	case top && b == ':':
		f.inValue = true
		return
	case top && b == ',':
		f.found = f.found || string(f.name) == `"id"`
		f.inValue, f.name = false, f.name[:0]
		return
	case b == ' ' || b == '\t' || b == '\r' || b == '\n':
		return
	}
	if !top || f.found {
		return
	}
	if !f.inValue && len(f.name) < maxID {
		f.name = append(f.name, b)
	} else if f.inValue && f.depth == 1 && string(f.name) == `"id"` && len(f.value) <= maxID {
		f.value = append(f.value, b)
	}
}

// id is the id that was found, which is a string or a number; nil if there is none.
func (f *idFinder) id() json.RawMessage {
	if !f.found || len(f.value) == 0 || len(f.value) > maxID || !json.Valid(f.value) {
		return nil
	}
	if first := f.value[0]; first != '"' && first != '-' && (first < '0' || first > '9') {
		return nil
	}
	return f.value
}

// refusal is the answer to a message that is not passed on. The id is null where it could not be read.
func refusal(id json.RawMessage, code int64, text string) []byte {
	data, _ := json.Marshal(map[string]any{ // it has nothing that could fail
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text},
	})
	return data
}

// idOf is the id of a whole message that can't be read as one.
func idOf(message []byte) json.RawMessage {
	if !json.Valid(message) {
		return nil
	}
	var find idFinder
	find.read(message)
	return find.id()
}
