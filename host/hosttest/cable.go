//go:build linux

package hosttest

import (
	"net"
	"sync"
	"testing"
)

// Cable is a TCP connection between two programs that can be cut, and that can take what is sent without bringing it,
// as a network does that loses everything.
type Cable struct {
	target string

	mu    sync.Mutex
	whole bool
	ends  []net.Conn
	held  [2]chan struct{} // each way: closed when what is sent is brought on; nil where it is
}

// Lay lays a cable to an address, and returns it with the address of its other end.
func Lay(t testing.TB, target string) (*Cable, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cable{target: target, whole: true}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			c.join(near, &all)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.Cut()
		c.Hold(false, false)
		all.Wait()
	})
	return c, l.Addr().String()
}

func (c *Cable) join(near net.Conn, all *sync.WaitGroup) {
	far, err := net.Dial("tcp", c.target)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || !c.whole {
		_ = near.Close()
		if err == nil {
			_ = far.Close()
		}
		return
	}
	c.ends = append(c.ends, near, far)
	all.Go(func() { c.bring(0, far, near) })
	all.Go(func() { c.bring(1, near, far) })
}

// bring brings on what is sent one way.
func (c *Cable) bring(way int, to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		c.mu.Lock()
		held := c.held[way]
		c.mu.Unlock()
		if held != nil {
			<-held
		}
		if _, late := to.Write(piece[:n]); late != nil || err != nil {
			return
		}
	}
}

// Cut ends what is connected, and lets nobody connect.
func (c *Cable) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = false
	for _, end := range c.ends {
		_ = end.Close()
	}
	c.ends = nil
}

// Mend lets programs connect again.
func (c *Cable) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = true
}

// Hold has what is sent to the target, and what comes from there, arrive only when it is not held any more.
func (c *Cable) Hold(to, from bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for way, hold := range []bool{to, from} {
		switch {
		case hold && c.held[way] == nil:
			c.held[way] = make(chan struct{})
		case !hold && c.held[way] != nil:
			close(c.held[way])
			c.held[way] = nil
		}
	}
}
