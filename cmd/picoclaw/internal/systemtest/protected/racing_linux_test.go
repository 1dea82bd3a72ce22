package protected_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// racer flips the first byte of a path in shared memory while system calls use the path.
const racer = `
import ctypes, mmap, os, shutil
libc = ctypes.CDLL(None, use_errno=True)
shared = mmap.mmap(-1, 4096)
path = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(shared)))
before = open('.git/config', 'rb').read()
calls = [
    lambda: libc.openat(-100, path, os.O_WRONLY | os.O_CREAT, 0o700),
    lambda: libc.renameat2(-100, b'evil', -100, path, 0),
    lambda: libc.linkat(-100, b'evil', -100, path, 0),
    lambda: libc.symlinkat(b'evil', -100, path),
    lambda: libc.mkdirat(-100, path, 0o700),
]
os.makedirs('wgit/hooks', exist_ok=True)
for harmless, protected, chosen in ('wenvrc', '.envrc', calls), ('wgit/hooks/post-commit', '.git/hooks/post-commit', calls), ('wgit/config', '.git/config', calls[:1]):
    shared[0:len(harmless) + 1] = harmless.encode() + b'\0'
    child = os.fork()
    while child == 0:
        shared[0] = ord('.')
        shared[0] = ord('w')
    for n in range(1000):
        open('evil', 'w').close()
        fd = chosen[n % len(chosen)]()
        if n % len(chosen) == 0 and fd >= 0:
            os.write(fd, b'evil')
            os.close(fd)
        if protected != '.git/config' and os.path.lexists(protected) or open('.git/config', 'rb').read() != before:
            print('changed', protected, 'in try', n)
            break
        try: os.unlink(harmless)
        except IsADirectoryError: os.rmdir(harmless)
        except FileNotFoundError: pass
    os.kill(child, 9)
print('done')
`

func TestRacingCommandChangesNoProtectedFile(t *testing.T) {
	t.Parallel()
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			a, calls := protectedAgent(t, isolated, true, "python3 racer.py")
			if err := os.WriteFile(filepath.Join(a.Workspace, "racer.py"), []byte(racer), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, r := range a.RunBatch(calls...) {
				if strings.Contains(r.Structured.Output, "changed") || !strings.Contains(r.Structured.Output, "done") {
					t.Errorf("%v %s", r.Error, r.Text)
				}
			}
		})
	}
}

// A vfork child opens files in its parent's memory, and then executes a program. The paths that this program opens are
// read from its own memory.
func TestProgramAfterVforkOpensItsFiles(t *testing.T) {
	t.Parallel()
	const spawner = `python3 -c '
import os
log = (os.POSIX_SPAWN_OPEN, 1, "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
for n in range(100):
    child = os.posix_spawn("/bin/sh", ["sh", "-c", "echo %d > own%d; echo log" % (n, n)], os.environ, file_actions=[log])
    os.waitpid(child, 0)
    print(open("own%d" % n).read(), end="")
'; wc -l < log`
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			a, calls := protectedAgent(t, isolated, true, spawner)
			for _, r := range a.RunBatch(calls...) {
				if fields := strings.Fields(r.Structured.Output); len(fields) != 101 || fields[99] != "99" || fields[100] != "100" {
					t.Errorf("%v %s", r.Error, r.Text)
				}
			}
		})
	}
}
