//go:build linux

package hosttest

import (
	"net"
	"sync"
	"testing"
)

// FlakyProxy is a TCP proxy between two programs. Tests can cut it, or make it delay all data like a network that loses
// all packets.
type FlakyProxy struct {
	target string

	mu     sync.Mutex
	open   bool
	ends   []net.Conn
	paused [2]chan struct{} // for each direction: closed on resume; nil if not paused
}

// NewFlakyLink returns a link to target, and the address to connect to instead.
func NewFlakyLink(t testing.TB, target string) (*FlakyProxy, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &FlakyProxy{target: target, open: true}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			c.forwardConnection(near, &all)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.Cut()
		c.PauseData(false, false)
		all.Wait()
	})
	return c, l.Addr().String()
}

func (c *FlakyProxy) forwardConnection(near net.Conn, all *sync.WaitGroup) {
	far, err := net.Dial("tcp", c.target)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || !c.open {
		_ = near.Close()
		if err == nil {
			_ = far.Close()
		}
		return
	}
	c.ends = append(c.ends, near, far)
	all.Go(func() { c.forwardData(0, far, near) })
	all.Go(func() { c.forwardData(1, near, far) })
}

// forwardData copies data in one direction.
func (c *FlakyProxy) forwardData(way int, to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		c.mu.Lock()
		held := c.paused[way]
		c.mu.Unlock()
		if held != nil {
			<-held
		}
		if _, late := to.Write(piece[:n]); late != nil || err != nil {
			return
		}
	}
}

// Cut closes all connections and refuses new ones.
func (c *FlakyProxy) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = false
	for _, end := range c.ends {
		_ = end.Close()
	}
	c.ends = nil
}

// Restore accepts connections again.
func (c *FlakyProxy) Restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
}

// PauseData pauses or resumes data to and from the target.
func (c *FlakyProxy) PauseData(to, from bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for way, hold := range []bool{to, from} {
		switch {
		case hold && c.paused[way] == nil:
			c.paused[way] = make(chan struct{})
		case !hold && c.paused[way] != nil:
			close(c.paused[way])
			c.paused[way] = nil
		}
	}
}
