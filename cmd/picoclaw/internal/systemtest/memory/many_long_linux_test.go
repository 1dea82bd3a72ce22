//go:build long

package memory_test

import (
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// So does what many small ones have taken.
func TestMemoryIsReturnedAfterManyMessages(t *testing.T) {
	t.Parallel()
	s := serveWrites(t)
	s.write(0, "small")
	before, most := memory(t, s.pid, resident), 0
	text := strings.Repeat("0123456789abcdef", megabyte/16/4)
	for id := range 200 {
		s.write(id+1, text)
		most = max(most, memory(t, s.pid, resident))
	}
	if most-before < 20*megabyte {
		t.Errorf("the messages have taken %d MB; there is nothing to give back", (most-before)/megabyte)
	}
	hosttest.WaitUntil(t, "the memory is given back",
		func() bool { return memory(t, s.pid, resident) < before+(most-before)/2 })
}
