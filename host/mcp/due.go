package mcp

import (
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// due are the requests of a client that have no answer yet.
type due struct {
	mu       sync.Mutex
	requests map[jsonrpc.ID]asked
	load     load
	writing  int // answers that the client does not have as a whole yet
}

// asked is a request, and the batch that it is of; nil if it came by itself.
type asked struct {
	request *jsonrpc.Request
	batch   *batch
}

func newDue() *due { return &due{requests: make(map[jsonrpc.ID]asked)} }

// add takes a request, unless its id is that of another one, or too much is under way.
func (d *due) add(r *jsonrpc.Request, b *batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.requests[r.ID].request != nil {
		return fmt.Errorf("there is a request with the id %v already that is not answered yet; give each request an id of its own", r.ID.Raw())
	}
	if err := d.load.take(len(r.Params)); err != nil {
		return err
	}
	d.requests[r.ID] = asked{r, b}
	return nil
}

// find returns the request with an id, nil if there is none.
func (d *due) find(id jsonrpc.ID) *jsonrpc.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests[id].request
}

// begins says whether a session is about to begin.
func (d *due) begins() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.requests {
		if a.request.Method == "initialize" {
			return true
		}
	}
	return false
}

// answer returns the request with an id, the zero value if there is none, and makes its id free: whoever reads the answer
// may use it again. written is to be called when the answer is written.
func (d *due) answer(id jsonrpc.ID) asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.requests[id]
	if a.request != nil {
		delete(d.requests, id)
		d.load.give(len(a.request.Params))
	}
	d.writing++
	return a
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
