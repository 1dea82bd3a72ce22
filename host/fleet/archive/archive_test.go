package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fill makes a directory with one of everything that can be moved.
func fill(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "one", "dir/b.txt": "two", "dir/deep/empty": "", "name with \xff": "x",
		"run.sh": "#!/bin/sh\n", "dir-2/x": strings.Repeat("long", 100_000), strings.Repeat("n", 200): "named"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{os.Chmod(filepath.Join(dir, "run.sh"), 0o755), os.Mkdir(filepath.Join(dir, "nothing"), 0o700),
		os.Symlink("dir/b.txt", filepath.Join(dir, "inner")), os.Symlink("/etc/passwd", filepath.Join(dir, "outer")),
		os.Symlink("nowhere", filepath.Join(dir, "dir", "dangling")), os.Chmod(filepath.Join(dir, "dir", "deep"), 0o500),
		os.Chtimes(filepath.Join(dir, "dir"), time.Unix(1e9, 123456789), time.Unix(1e9, 123456789))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = Clear(dir) })
	return dir
}

func packed(t *testing.T, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Pack(t.Context(), dir, &b, DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Unpacked and packed again it is the same stream: names, contents, modes, times and links.
func TestACopyIsTheSame(t *testing.T) {
	from, to := fill(t), t.TempDir()
	t.Cleanup(func() { _ = Clear(to) })
	stream := packed(t, from)
	if err := Unpack(t.Context(), to, bytes.NewReader(stream), DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(packed(t, to), stream) {
		t.Error("the copy is another one")
	}
	if to, err := os.Readlink(filepath.Join(to, "outer")); err != nil || to != "/etc/passwd" {
		t.Error(to, err)
	}
	if info, err := os.Stat(filepath.Join(to, "dir")); err != nil || !info.ModTime().Equal(time.Unix(1e9, 123456789)) {
		t.Error(info, err)
	}
	if err := os.WriteFile(filepath.Join(from, "a.txt"), []byte("two"), 0o640); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(packed(t, from), stream) {
		t.Error("a change is not seen")
	}
	if err := Unpack(t.Context(), to, bytes.NewReader(stream), DefaultLimits()); err == nil {
		t.Error("it is unpacked over what is there")
	}
	if err := Clear(to); err != nil {
		t.Fatal(err)
	}
	if empty, err := Empty(to); !empty || err != nil {
		t.Error(empty, err)
	}
}

func TestWhatCantBeMovedIsNamed(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = l.Close() }()
	if err := Pack(t.Context(), dir, &bytes.Buffer{}, DefaultLimits()); err == nil || !strings.Contains(err.Error(), "s is no file") {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	dir := fill(t)
	stream := packed(t, dir)
	for _, l := range []Limits{{Bytes: 1000, Entries: 1000}, {Bytes: 1 << 20, Entries: 3}} {
		if err := Pack(t.Context(), dir, &bytes.Buffer{}, l); err == nil {
			t.Error("packed", l)
		}
		to := t.TempDir()
		if err := Unpack(t.Context(), to, bytes.NewReader(stream), l); err == nil {
			t.Error("unpacked", l)
		}
		if err := Clear(to); err != nil {
			t.Error(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Pack(ended, dir, &bytes.Buffer{}, DefaultLimits()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func stream(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		h.Size = int64(len("owned"))
		if h.Typeflag != tar.TypeReg {
			h.Size = 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			_, _ = w.Write([]byte("owned"))
		}
	}
	_ = w.Close()
	return b.Bytes()
}

func hostile(t testing.TB) map[string][]byte {
	file := func(name string) *tar.Header { return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600} }
	link := func(name, to string) *tar.Header {
		return &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
	}
	dir := func(name string) *tar.Header { return &tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o777} }
	return map[string][]byte{
		"above":             stream(t, file("../out")),
		"absolute":          stream(t, file("/tmp/out")),
		"through a link":    stream(t, link("l", ".."), file("l/out")),
		"a directory there": stream(t, link("l", ".."), dir("l/out")),
		"mode of a link":    stream(t, link("l", ".."), dir("l")),
		"over a link":       stream(t, link("l", "../out"), file("l")),
		"twice":             stream(t, file("a"), file("a")),
		"a hard link":       stream(t, &tar.Header{Typeflag: tar.TypeLink, Name: "h", Linkname: "../out"}),
		"a device":          stream(t, &tar.Header{Typeflag: tar.TypeChar, Name: "d"}),
		"a pipe":            stream(t, &tar.Header{Typeflag: tar.TypeFifo, Name: "d"}),
		"the root":          stream(t, dir(".")),
		"a dot":             stream(t, file("a/../b")),
		"cut off":           stream(t, file("a"))[:514],
	}
}

func TestNothingIsWrittenOutside(t *testing.T) {
	for name, data := range hostile(t) {
		above := t.TempDir()
		to := filepath.Join(above, "in")
		if err := os.Mkdir(to, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := Unpack(t.Context(), to, bytes.NewReader(data), DefaultLimits()); err == nil {
			t.Error(name, "is taken")
		}
		if all, err := os.ReadDir(above); err != nil || len(all) != 1 {
			t.Error(name, all, err)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	for _, data := range hostile(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		above := t.TempDir()
		to := filepath.Join(above, "in")
		if err := os.Mkdir(to, 0o700); err != nil {
			t.Fatal(err)
		}
		_ = Unpack(t.Context(), to, bytes.NewReader(data), Limits{Bytes: 1 << 20, Entries: 100})
		_ = filepath.WalkDir(above, func(name string, d fs.DirEntry, err error) error {
			if name != above && name != to && !strings.HasPrefix(name, to+string(filepath.Separator)) {
				t.Errorf("%s is outside", name)
			}
			return nil
		})
		if err := Clear(to); err != nil {
			t.Error(err)
		}
	})
}
