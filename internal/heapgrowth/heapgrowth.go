// Package heapgrowth sets when the garbage collector runs: not before the heap has a size that costs nobody anything,
// and then each time it has grown by half. It knows nothing of its contents.
//
// GOGC alone can't say this: a percentage that lets a small heap grow to 16 MB lets a large one grow to five times its
// size. GOMEMLIMIT can't either: a program that needs more than the limit spends half its time collecting.
package heapgrowth

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// startPercent lets a program that has just started grow to 16 MiB: the runtime begins at 4 MiB.
const startPercent = 400

// minPercent bounds the memory of a large heap, at a cost that stays in proportion.
const minPercent = 50

// Set lets the heap grow to free bytes before the first collection matters, and by half of its live size above. GOGC and
// GOMEMLIMIT of the environment take precedence.
func Set(free uint64) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(startPercent)
	adjustAfterCollection(free)
}

// adjustAfterCollection sets the percentage again each time a collection has ended: the sentinel has no reference, so each
// collection finalizes it.
func adjustAfterCollection(free uint64) {
	sentinel := new([16]byte)
	runtime.SetFinalizer(sentinel, func(*[16]byte) {
		debug.SetGCPercent(percentFor(liveBytes(), free))
		adjustAfterCollection(free)
	})
}

// percentFor returns the growth in percent of the live heap that leads to free bytes, and at least minPercent.
func percentFor(live, free uint64) int {
	if live == 0 || live >= free {
		return minPercent
	}
	return int(min(max(free*100/live-100, minPercent), startPercent))
}

func liveBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
