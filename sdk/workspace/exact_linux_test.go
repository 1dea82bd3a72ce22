package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Where the kernel has no call that looks once, going name by name answers the same.
func TestOpenByComponentsMatchesOpenat2(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755),
		os.WriteFile(filepath.Join(dir, "a", "b", "file"), []byte("x"), 0o600),
		os.Symlink("a", filepath.Join(dir, "link")),
		os.Symlink("file", filepath.Join(dir, "a", "b", "last")),
		os.Symlink("nowhere", filepath.Join(dir, "dangling")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"a/b/file", "a/b", "a", ".", "/", "/..", "a/../a/b/file", "a//b/", "link/b/file", "link", "a/b/last", "dangling",
		"loop", "loop/x",
		"a/b/file/x", "nothing", "nothing/x", "/proc/self/root", "/proc/self/fd/0", "/proc/self/cwd/x", "/proc/self/exe",
	} {
		if path[0] != '/' {
			path = dir + "/" + path
		}
		for _, flags := range []int{unix.O_RDONLY, unix.O_PATH, unix.O_RDONLY | unix.O_DIRECTORY, unix.O_RDWR} {
			want, wantErr := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
				Flags: uint64(flags) | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
			})
			got, gotErr := openByComponents(path, flags)
			if errors.Is(wantErr, unix.ENOSYS) {
				continue
			}
			if !errors.Is(gotErr, wantErr) {
				t.Errorf("%s, flags %#x: %v, and looking once %v", path, flags, gotErr, wantErr)
			}
			if wantErr == nil && gotErr == nil && !same(t, got, want) {
				t.Errorf("%s, flags %#x: another file", path, flags)
			}
			_, _ = unix.Close(want), unix.Close(got)
		}
	}
}

func same(t *testing.T, a, b int) bool {
	t.Helper()
	var one, other unix.Stat_t
	if err := errors.Join(unix.Fstat(a, &one), unix.Fstat(b, &other)); err != nil {
		t.Fatal(err)
	}
	return one.Dev == other.Dev && one.Ino == other.Ino
}
