package host

// headroomBytes is how much a server's heap may grow between two collections, besides doubling.
const headroomBytes = 16 << 20

// Headroom returns memory for a server to hold on to for as long as it runs (see [runtime.KeepAlive]). Nothing is ever
// written to it, so that it takes addresses and no memory. But the runtime counts it: it collects when the heap has
// doubled, which is every few dozen calls for the few megabytes that a host has in use, and what a collection falls into
// takes twice as long. Unlike a larger GOGC it adds nothing to a heap that is large already.
func Headroom() []byte { return make([]byte, headroomBytes) }
