package paths

import (
	"path/filepath"
	"testing"
)

// What is within a directory is what the standard library says of the way from there.
func FuzzWithin(f *testing.F) {
	for _, pair := range [][2]string{{"/w", "/w2"}, {"/w", "/w/a"}, {"/w", "/w/a..b"}, {"/w", "/w/.."}, {"/", "/w"},
		{"/w/", "/w/a"}, {"/w", "w"}, {"/w/.a", "/w/.a/b"}, {"/", "/"}, {"", "/"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, dir, path string) {
		rel, err := filepath.Rel(dir, path)
		if want := err == nil && filepath.IsLocal(rel); Within(dir, path) != want {
			t.Errorf("Within(%q, %q) is not %v", dir, path, want)
		}
	})
}
