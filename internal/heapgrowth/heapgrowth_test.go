package heapgrowth

import "testing"

func TestPercentFor(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for _, c := range []struct {
		live, free uint64
		want       int
	}{
		{0, 20 * mb, 50}, {1 * mb, 20 * mb, 400}, {4 * mb, 20 * mb, 400}, {5 * mb, 20 * mb, 300}, {8 * mb, 20 * mb, 150},
		{10 * mb, 20 * mb, 100}, {15 * mb, 20 * mb, 50}, {20 * mb, 20 * mb, 50}, {300 * mb, 20 * mb, 50},
	} {
		if got := gcPercentFor(c.live, c.free); got != c.want {
			t.Errorf("gcPercentFor(%d MiB, %d MiB) = %d, want %d", c.live/mb, c.free/mb, got, c.want)
		}
	}
}
