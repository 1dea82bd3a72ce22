package paths

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// tree makes directories and links in a directory of its own, whose name has no links in it.
func tree(t *testing.T, dirs []string, links map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func TestResolve(t *testing.T) {
	top := tree(t, []string{"dir/sub", "other"}, map[string]string{
		"link": "dir", "dir/up": "../other", "first": "second", "second": "nothing/here", "loop": "loop",
	})
	if err := os.WriteFile(filepath.Join(top, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var many PathResolver
	for path, want := range map[string]string{
		"dir/sub":      "dir/sub",
		"link/sub":     "dir/sub",
		"link/up/new":  "other/new",
		"missing/a/b":  "missing/a/b",
		"first":        "nothing/here", // a link to a link to nothing
		"first/a":      "nothing/here/a",
		"file/below":   "file/below", // not a directory, which is for the one who opens it to say
		"link/../file": "file",       // the parent of what the link leads to
	} {
		for name, resolve := range map[string]func(string) (string, error){"alone": Resolve, "among many": many.Resolve} {
			if got, err := resolve(top + "/" + path); err != nil || got != filepath.Join(top, want) {
				t.Errorf("%s, %s: %s, %v; want %s", path, name, got, err, want)
			}
		}
	}
	if got, err := Resolve(filepath.Join(top, "loop/a")); err == nil {
		t.Errorf("a loop leads to %s", got)
	}
}

func TestBelow(t *testing.T) {
	for _, test := range []struct {
		dir, path, name string
		ok              bool
	}{
		{"/w", "/w", ".", true},
		{"/w", "/w/a/b", "a/b", true},
		{"/", "/w", "w", true},
		{"/w/", "/w/a", "a", true},
		{"/w", "/w2", "", false},
		{"/w", "/w/../x", "", false},
		{"/w/a", "/w", "", false},
		{"/w", "w", "", false},
	} {
		dir, path := filepath.FromSlash(test.dir), filepath.FromSlash(test.path)
		if name, ok := RelativeWithin(dir, path); name != filepath.FromSlash(test.name) || ok != test.ok {
			t.Errorf("Below(%q, %q) is %q, %v", dir, path, name, ok)
		}
	}
}

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

func TestLinks(t *testing.T) {
	top := tree(t, []string{"real/deep/ws"}, map[string]string{"first": "real", "real/second": "../real/deep", "loop": "loop"})
	links := SymlinksInPath(top + "/first/second/ws")
	if want := map[string]string{top + "/first": top + "/real", top + "/real/second": top + "/real/deep"}; !maps.Equal(links, want) {
		t.Errorf("%v, not %v", links, want)
	}
	for _, path := range []string{top + "/real/deep/ws", top + "/loop/a", top + "/missing"} {
		if links := SymlinksInPath(path); len(links) > 0 {
			t.Errorf("%s has the links %v", path, links)
		}
	}
}

func TestRebase(t *testing.T) {
	for _, c := range [][4]string{{"/a/b", "/a", "/z", "/z/b"}, {"/a", "/a", "/z", "/z"}, {"/ab", "/a", "/z", "/ab"}, {"/a", "", "/z", "/a"}} {
		if got := Rebase(c[0], c[1], c[2]); got != filepath.FromSlash(c[3]) {
			t.Errorf("%s from %s to %s: %s", c[0], c[1], c[2], got)
		}
	}
}
