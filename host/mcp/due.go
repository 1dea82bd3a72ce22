package mcp

import (
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// due are the requests of a client that have no answer yet.
type due struct {
	mu       sync.Mutex
	requests map[jsonrpc.ID]*jsonrpc.Request
	writing  int // answers that the client does not have as a whole yet
}

func newDue() *due { return &due{requests: make(map[jsonrpc.ID]*jsonrpc.Request)} }

// add says whether the request's id is not that of another one.
func (d *due) add(r *jsonrpc.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.requests[r.ID] != nil {
		return false
	}
	d.requests[r.ID] = r
	return true
}

// answer returns the request with an id, nil if there is none, and makes its id free: whoever reads the answer may use it
// again. written is to be called when the answer is written.
func (d *due) answer(id jsonrpc.ID) *jsonrpc.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.requests[id]
	delete(d.requests, id)
	d.writing++
	return r
}

func (d *due) written() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writing--
}

func (d *due) any() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.requests)+d.writing > 0
}
