package paths

import (
	"path/filepath"
	"testing"
)

// What is joined is what the standard library makes of it, and stays so.
func FuzzJoin(f *testing.F) {
	for _, pair := range [][2]string{{"/a/b", "c"}, {"/a", ".."}, {"/", ".."}, {"", "x"}, {"/a/..", ".."}, {"/a/b", "./c"}, {"a", ".."}, {"//a", "b"}, {"/a/.b", ".."}, {"/a", ".b"}, {"/a/", ".."}, {"/a", ""}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, dir, name string) {
		var j Joiner
		got, again := j.Join(dir, name), j.Join(dir, name)
		if want := filepath.Join(dir, name); got != want || again != want {
			t.Errorf("Join(%q, %q) = %q, then %q; want %q", dir, name, got, again, want)
		}
		if got, want := j.Below(dir, name), dir+string(filepath.Separator)+name; got != want {
			t.Errorf("Below(%q, %q) = %q; want %q", dir, name, got, want)
		}
		if Clean(name) && filepath.Clean(name) != name {
			t.Errorf("%q is not clean", name)
		}
		if got, want := Cleaned(dir), filepath.Clean(dir); got != want {
			t.Errorf("Cleaned(%q) = %q; want %q", dir, got, want)
		}
	})
}
