package session

import (
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFileURIPaths(t *testing.T) {
	for text, want := range map[string][]string{
		"file:///etc/passwd":            {"/etc/passwd"},
		"FiLe:///etc/passwd":            {"/etc/passwd"},
		"file://localhost/etc/passwd":   {"/etc/passwd"},
		"file:////etc/passwd":           {"//etc/passwd"},
		"file:///w/%2e%2e/etc/%70asswd": {"/w/../etc/passwd", "/w/%2e%2e/etc/%70asswd"},
		"file:///w/a b":                 {"/w/a b"},
	} {
		if got, ok := fileURIPaths(text); !ok || !cmp.Equal(got, want) {
			t.Errorf("%q means %q, %v; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "a", "/file:/x", "files:/x", "./file:x", "file", "a/file:///x", "http://x/file:///"} {
		if got, ok := fileURIPaths(text); !ok || len(got) > 0 {
			t.Errorf("%q means %q, %v; it is no URI", text, got, ok)
		}
	}
	for _, text := range []string{"file:x", "file:", "file:/x", "file://host/x", "file%3A///x", "%66ile:///x", "file:///x?y",
		"file:///x#y", `file:\\x`, `file:///w\..\x`, " file:///x", "\u00a0file:///x", "fi\tle:///x", "file:///x\n",
		"file:///%zz", "\x01file:///x"} {
		if got, ok := fileURIPaths(text); ok {
			t.Errorf("%q means %q; readers differ about it", text, got)
		}
	}
}

// Whatever the standard library takes for the URI of a file means the same file here, or is refused.
func FuzzURIsOfFiles(f *testing.F) {
	for _, seed := range []string{"file:///a/%2e%2e/b", "FILE://localhost/a", "file:/a?b", "file:a", "file%3a///x", "a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "file" {
			return
		}
		if meant, ok := fileURIPaths(text); ok && !slices.Contains(meant, u.Path) {
			t.Errorf("%q is %q, and means %q here", text, u.Path, meant)
		}
	})
}
