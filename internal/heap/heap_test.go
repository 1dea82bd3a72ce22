package heap

import (
	"runtime"
	"testing"
	"time"
)

// Garbage of many calls is collected before the runtime would, and of few it is not.
func TestGarbageIsCollectedBetweenCalls(t *testing.T) {
	room := make([]byte, 256<<20) // with which the runtime collects at twice as much
	runtime.GC()
	var tidy Tidy
	tidy.Due()
	before := collections()
	call := func(size int) {
		garbage = make([]byte, size)
		tidy.Passed(size)
	}
	for range 2 * lookAtEach {
		call(1 << 10)
	}
	if n := collections() - before; n > 0 {
		t.Errorf("after a few small calls: %d collections", n)
	}
	for range 2 * lookAtEach {
		call(collectAt / lookAtEach)
	}
	for deadline := time.Now().Add(10 * time.Second); collections() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("after many large calls nothing was collected")
		}
	}
	runtime.KeepAlive(room)
}

var garbage []byte // which the compiler is not to leave out

func collections() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}
