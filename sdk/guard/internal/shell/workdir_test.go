package shell_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// workdir makes a directory with a directory sub and a file in.
func workdir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "sub"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "in"), []byte("from in\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// calls reads what args wrote: for each call the number of its arguments, then these.
func calls(t *testing.T, dir string) [][]string {
	t.Helper()
	written, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		return nil // the shell took the line for no program at all
	}
	if err := os.Remove(filepath.Join(dir, "calls")); err != nil {
		t.Fatal(err)
	}
	items := strings.Split(string(written), "\x00")
	var out [][]string
	for i := 0; i < len(items)-1; {
		n, err := strconv.Atoi(items[i])
		if err != nil || i+1+n > len(items) {
			t.Fatalf("%q is not what args writes", written)
		}
		out = append(out, append([]string{}, items[i+1:i+1+n]...))
		i += 1 + n
	}
	return out
}
