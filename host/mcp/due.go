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

	beginning int           // requests to begin a session whose answers the client does not have as a whole yet
	begun     chan struct{} // closed when there are none; nil if there are none
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
	if begins(r) {
		if d.beginning++; d.beginning == 1 {
			d.begun = make(chan struct{})
		}
	}
	return nil
}

// find returns the request with an id, nil if there is none.
func (d *due) find(id jsonrpc.ID) *jsonrpc.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests[id].request
}

// begins says whether a request is to begin a session.
func begins(r *jsonrpc.Request) bool { return r.Method == "initialize" }

// beginnings returns a channel that is closed when the client has the answers to what begins a session; nil if it has them all.
func (d *due) beginnings() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun
}

// answer returns the request with an id, the zero value if there is none, and makes its id free: whoever reads the answer
// may use it again. written is to be called with it when the answer is written.
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

func (d *due) written(a asked) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writing--
	if a.request != nil && begins(a.request) {
		if d.beginning--; d.beginning == 0 {
			close(d.begun)
			d.begun = nil
		}
	}
}

func (d *due) any() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.requests)+d.writing > 0
}
