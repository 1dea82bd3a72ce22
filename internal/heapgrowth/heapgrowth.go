// Package heapgrowth sets when the garbage collector runs: not before the heap has a free size, and then each time it
// has grown by half.
//
// GOGC alone can't do this: a percentage that lets a small heap grow to 16 MB lets a large one grow to five times its
// size. GOMEMLIMIT can't either: a program that needs more than the limit spends half its time collecting.
package heapgrowth

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// startPercent is the GOGC of a program that has just started. It lets the heap grow from the runtime's 4 MiB to 16
// MiB.
const startPercent = 400

// minPercent is the GOGC of a large heap. It limits memory at a proportional cost.
const minPercent = 50

// SetGCThreshold lets the heap grow to free bytes without collections. Above that, the collector runs whenever the heap
// has grown by half of its live size. The environment's GOGC and GOMEMLIMIT take precedence.
func SetGCThreshold(free uint64) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(startPercent)
	scheduleGCPercentUpdates(free)
}

// scheduleGCPercentUpdates sets GOGC after each collection. Its sentinel object has no references, so each collection
// finalizes it.
func scheduleGCPercentUpdates(free uint64) {
	sentinel := new([16]byte)
	runtime.SetFinalizer(sentinel, func(*[16]byte) {
		debug.SetGCPercent(gcPercentFor(liveHeapBytes(), free))
		scheduleGCPercentUpdates(free)
	})
}

// gcPercentFor returns the GOGC that lets a live heap grow to free bytes, and at least minPercent.
func gcPercentFor(live, free uint64) int {
	if live == 0 || live >= free {
		return minPercent
	}
	return int(min(max(free*100/live-100, minPercent), startPercent))
}

func liveHeapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
