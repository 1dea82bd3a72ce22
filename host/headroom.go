package host

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

const (
	headroomBytes = 48 << 20    // what a server's heap may grow by between two collections, besides doubling
	settled       = time.Second // after which a server's client has had its first answers
)

// KeepHeadroom gives a server room to work in for as long as ctx lasts. The runtime collects when the heap has doubled, which
// is every few dozen calls for the few megabytes that a host has in use, and what a collection falls into takes twice as
// long. So memory is held on to that nothing is ever written to: it takes addresses and no memory, but the runtime counts
// it. Unlike a larger GOGC it adds nothing to a heap that is large already. What has been used of the room goes back when
// the server has nothing to do (see package heap).
//
// To get it begins a collection, which would be a fifth of the time that a client waits for its first answer: it is got
// when that is over.
func KeepHeadroom(ctx context.Context) {
	select {
	case <-time.After(settled):
	case <-ctx.Done():
		return
	}
	room := Headroom()
	<-ctx.Done()
	runtime.KeepAlive(room)
}

// Headroom is what [KeepHeadroom] holds on to. The room takes the place of a larger GOGC, unless that is set by hand.
func Headroom() *strings.Builder {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100)
	}
	debug.FreeOSMemory() // the room is to lie where nothing has been written before
	room := new(strings.Builder)
	room.Grow(headroomBytes) // which, unlike make, does not write zeros to it
	return room
}
