package isolation

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// changes runs a shell script in a directory and returns what was noticed of it, relative to the directory.
func changes(t *testing.T, dir, script string, answer func(mutation.FileMutation) error) []string {
	t.Helper()
	iso := configured(t, Config{})
	var mu sync.Mutex
	var all []string
	p := Profile{Name: "noticed", Exec: true, Confine: true, ReadWrite: []string{dir}, Notice: func(m mutation.FileMutation) error {
		mu.Lock()
		defer mu.Unlock()
		line := fmt.Sprintf("%d %s", m.Kind, strings.TrimPrefix(m.Path, dir+"/"))
		if m.To != "" {
			line += " " + strings.TrimPrefix(m.To, dir+"/")
		}
		if m.Err != nil {
			line += m.Err.Error()
		}
		if !strings.Contains(line, "/dev/") {
			all = append(all, line)
		}
		return answer(m)
	}}
	cmd := shell("cd " + dir + "; " + script)
	if err := iso.Run(t.Context(), cmd, p); err != nil {
		t.Logf("%s: %v", script, err)
	}
	mu.Lock()
	defer mu.Unlock()
	return all
}

func TestNoticePrecedesChange(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ script, want string }{
		{"true; cat /etc/passwd >/dev/null; ls -la . >/dev/null", ""},
		{"echo x > a", "1 a"},
		{"echo x >> a", "1 a"},
		{"mkdir d d/e", "2 d|2 d/e"},
		{"ln -s a l; echo y > l", "2 l|1 a"},
		{"ln -s ../d/e d/up; echo y > d/up/f", "2 d/up|1 d/e/f"},
		{"ln -s gone dangling; echo y > dangling", "2 dangling|1 gone"},
		{"mv a d/b", "4 a d/b"},
		{"ln d/b h", "6 d/b h"},
		{"cd d; rm -f ../d/./b", "3 d/b"},
		{"rm -rf d/e", "3 d/e/f|3 d/e"},
		{"chmod 600 h; touch -d yesterday h", "7 h|1 h|7 h"},
		{"mkfifo p", "2 p"},
		{"(cd d && rm up)", "3 d/up"},
		{"echo x > /proc/self/cwd/d/p1; echo x > /proc/thread-self/cwd/d/../d/p2", "1 d/p1|1 d/p2"},
		{"ln -s /proc/self/cwd/d pl; echo x > pl/p3; exec 3< d/p1; chmod 644 /proc/self/fd/3", "2 pl|1 d/p3|7 d/p1"},
		{"ln -s ../../../../../../../../proc/self/cwd/d d/rl; echo x > d/rl/p4; echo x > /proc/self/root$PWD/p5", "2 d/rl|1 d/p4|1 p5"},
		{"mkdir 'q (deleted)'; cd 'q (deleted)'; echo x > ../p7", "2 q (deleted)|1 p7"},
		{"mkdir q; cd q; rmdir ../q; echo x > ../p8", "2 q|3 q|0 its path begins at a deleted directory"},
		{"mkdir r; cd r; rmdir ../r; echo x > p9; mkdir p9; chmod 700 . && mkdir ../made", "2 r|3 r|0 its path begins at a deleted directory"},
		{"f=$(printf './%.0s' $(seq 2000)); echo x > ${f}p6; rmdir nothing/; mkdir -p x//y/./z/", "1 p6|3 nothing|8 |2 x|2 x/y|2 x/y/z"},
	} {
		got := strings.Join(changes(t, dir, c.script, func(mutation.FileMutation) error { return nil }), "|")
		if got != c.want {
			t.Errorf("%s: %s; want %s", c.script, got, c.want)
		}
	}
}

// What the listener refuses fails with its error, and the rest goes on.
func TestNoticeRefusesChange(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got := changes(t, dir, "echo x > no; echo x > yes", func(m mutation.FileMutation) error {
		if filepath.Base(m.Path) == "no" {
			return unix.EPERM
		}
		return nil
	})
	if _, err := os.Stat(filepath.Join(dir, "no")); err == nil || !slices.Contains(got, "1 no") {
		t.Errorf("it was made: %v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "yes")); err != nil {
		t.Error(err)
	}
}

// A child that nobody can listen to is started all the same, and that is said.
func TestUnnoticedChangesAreReported(t *testing.T) {
	iso := configured(t, Config{})
	var mu sync.Mutex
	var said error
	cmd := shell("true")
	if err := iso.Run(t.Context(), cmd, Profile{Name: "open", Exec: true, Notice: func(m mutation.FileMutation) error {
		mu.Lock()
		defer mu.Unlock()
		said = m.Err
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if said == nil {
		t.Error("nothing was said")
	}
}

// That changes would be noticed is known without a child, and costs nobody else the right to make them.
func TestCanNoticeChanges(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	noticed := changes(t, dir, "echo x > a", func(mutation.FileMutation) error { return nil })
	if told := CanNoticeChanges(); told != slices.Equal(noticed, []string{"1 a"}) {
		t.Errorf("%v, but what was noticed is %q", told, noticed)
	}
	for range 64 {
		if err := os.WriteFile(filepath.Join(dir, "b"), []byte("y"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
