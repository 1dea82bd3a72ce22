package isolation

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// What is protected in a writable tree stays as it is and where it is, also when its parents are moved; without the
// wall the same script destroys it.
func TestProtectedFilesStay(t *testing.T) {
	for _, protect := range []bool{true, false} {
		work := filepath.Join(realTemp(t), "work")
		put(t, filepath.Join(work, "sub/.git/config"), "before")
		put(t, filepath.Join(work, "sub/.git/HEAD"), "head")
		i := configured(t, Config{Enabled: true})
		p := Profile{Name: "sh", Exec: true, ReadWrite: []string{work}}
		if protect {
			p.Protect = func() ([]string, error) {
				return []string{filepath.Join(work, "gone"), filepath.Join(work, "sub/.git/config")}, nil
			}
		}
		r := outcome(t, i, shell(`cd `+work+`
			echo x > sub/.git/config
			mv -f sub/.git/HEAD sub/.git/config
			rm -f sub/.git/config
			python3 -c 'import os; os.rename("sub/.git", "sub/g")'
			python3 -c 'import os; os.rename("sub", "other")'
			mkdir -p sub/.git; echo evil > sub/.git/config
			echo fine > sub/.git/index
		`), p)
		data, err := os.ReadFile(filepath.Join(work, "sub/.git/config"))
		if stays := err == nil && string(data) == "before"; stays != protect {
			t.Errorf("protected: %v; it is %q, %v\n%s", protect, data, err, r.stderr)
		}
		if data, err := os.ReadFile(filepath.Join(work, "sub/.git/index")); string(data) != "fine\n" {
			t.Errorf("beside it: %q, %v\n%s", data, err, r.stderr)
		}
		if _, err := os.Lstat(filepath.Join(work, "gone")); err == nil {
			t.Error("something was made in the place of what is not there")
		}
	}
}

// Whoever puts a link in the place of what is about to be mounted has a sandbox that shows another place, and is found
// out before it is used.
func TestReplacedMountIsDetected(t *testing.T) {
	base := realTemp(t)
	work := filepath.Join(base, "work")
	secret := put(t, filepath.Join(base, "secret"), "canary")
	rc := put(t, filepath.Join(work, "rc"), "plain")
	i := configured(t, Config{Enabled: true})
	p := Profile{Name: "sh", Exec: true, ReadWrite: []string{work}, Protect: func() ([]string, error) {
		return []string{rc}, nil
	}}
	plan, err := newMountPlan(shell(""), p, nil, func() bool { return true }, nil)
	if err != nil {
		t.Fatal(err)
	}
	held, err := plan.expectedMounts()
	if err != nil || len(held) != 1 {
		t.Fatalf("%v, %v", held, err)
	}
	p.Protect = func() ([]string, error) { return nil, nil }
	out, stdout := pipe(t)
	cmd := shell("echo up; exec sleep 60")
	cmd.Stdout = stdout
	begun, err := i.Start(cmd, p)
	stdout.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer begun.Kill()
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil { // the mounts are there
		t.Fatal(err)
	}
	tree := begun.tree.(*sandboxProcessTree)
	tree.awaitInitPID()
	if err := tree.status.checkMounts(held); err != nil {
		t.Errorf("nothing was replaced: %v", err)
	}
	if err := os.Rename(secret, rc); err != nil {
		t.Fatal(err)
	}
	if err := tree.status.checkMounts(held); !errors.Is(err, errMountReplaced) {
		t.Errorf("it was replaced: %v", err)
	}
}
