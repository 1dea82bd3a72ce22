package workspace_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// A change that leaves size and modification time as they were is another revision, and so is one right after another.
func TestChangeAltersRevision(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write := func(contents string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now := func() string {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return workspace.FileRevision(info)
	}
	settled := func() string {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if r := now(); r != "" {
				return r
			}
		}
		t.Fatal("a file that nobody changes has no revision")
		return ""
	}
	write("old")
	if r := now(); r != "" {
		t.Errorf("a file that was changed just now has the revision %q, which the next change might have too", r)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	before := settled()
	if again := now(); again != before {
		t.Errorf("it was %q, and is %q without a change", before, again)
	}
	write("new")
	if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if r := now(); r == before {
		t.Error("a change with the old modification time does not show")
	}
	if r := settled(); r == before {
		t.Error("a change with the old modification time does not show later")
	}
}
