//go:build linux

package supervise

import (
	"path/filepath"
	"strings"
	"testing"
)

// What a binary says of itself is compared with its manifest at its first start, and again when either is another: not
// at each start.
func TestABinaryIsAskedOnceWhatItIs(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.known.dir = filepath.Join(f.home, "cache")
		first := f.spec("START=1")
		first.Digest = "one"
		f.call(first, "pid", nil)

		lie := *f.manifest
		lie.Version = "2.0.0"
		known := f.spec("START=2") // another environment is another instance
		known.Digest, known.Manifest = "one", &lie
		f.call(known, "pid", nil)

		changed := f.spec("START=3")
		changed.Digest, changed.Manifest = "two", &lie
		_, err := f.Call(t.Context(), changed, request(t, "pid", nil), Listener{})
		if err == nil || !strings.Contains(err.Error(), "something else of itself") {
			t.Errorf("a binary that is another now was not asked: %v", err)
		}
		if f.known.has(changed) {
			t.Error("one that is not what its manifest says is noted as if it were")
		}
	})
}
