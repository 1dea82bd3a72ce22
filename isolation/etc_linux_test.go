package isolation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Programs see the same of /etc whether it is copied or mounted piece by piece, and can write to none of it.
func TestCopiesOfEtcAreLikeIt(t *testing.T) {
	// The directories that are shown are compared by what is in them and not by themselves.
	const look = "cd /etc && find . -type l -printf '%p %l\\n' -o -type f -exec cksum {} + | sort"
	copies, single := configured(t, Config{Enabled: true}), configured(t, Config{Enabled: true})
	single.platform.etc = nil
	p := Profile{Name: "test", Exec: true, Confine: true}
	want := outcome(t, single, shell(look), p).stdout
	if got := outcome(t, copies, shell(look), p).stdout; got != want || !strings.Contains(want, "nsswitch.conf") {
		t.Errorf("copied:\n%s\none by one:\n%s", got, want)
	}
	for _, file := range []string{"passwd", "hosts", "ld.so.conf.d/x", "x"} {
		if r := outcome(t, copies, shell(": >> /etc/"+file), p); r.exit.Success() {
			t.Errorf("/etc/%s can be written to", file)
		}
	}
	if len(copies.platform.etc.used) != 1 {
		t.Error("nothing was copied")
	}
}

// Where the operator shows something in /etc, it is what is seen.
func TestExposedInEtc(t *testing.T) {
	base := realTemp(t)
	put(t, filepath.Join(base, "x"), "exposed")
	i := configured(t, Config{Enabled: true, ExposePaths: []ExposePath{{Source: filepath.Join(base, "x"),
		Target: "/etc/a/b", Mode: ModeReadOnly}}})
	r := outcome(t, i, shell("cat /etc/a/b && test -s /etc/nsswitch.conf"),
		Profile{Name: "test", Exec: true, Confine: true})
	if r.stdout != "exposed" || !r.exit.Success() {
		t.Errorf("%q, %s", r.stdout, r.stderr)
	}
}

// What is copied is never old, and copies that nobody uses go.
func TestCopiesOfEtcFollowIt(t *testing.T) {
	source, cache := realTemp(t), realTemp(t)
	file := put(t, filepath.Join(source, "dir", "deep", "file"), "old")
	parts := []viewMount{
		{kind: bindRO, source: filepath.Join(source, "dir"), target: "/etc/dir"},
		{kind: bindData, target: "/etc/passwd", data: []byte("root")},
	}
	read := func(c *etcCopies) (path, text string) {
		t.Helper()
		path, err := c.copiesDir(parts)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(path, "dir", "deep", "file"))
		if err != nil {
			t.Fatal(err)
		}
		return path, string(data)
	}
	first, second := newEtcCopies(cache), newEtcCopies(cache)
	defer second.releaseDirs()
	old, _ := read(first)
	if again, _ := read(second); again != old {
		t.Errorf("%s and %s are for the same", old, again)
	}
	if err := os.WriteFile(file, []byte("new!"), 0o600); err != nil {
		t.Fatal(err)
	}
	recent, text := read(second)
	if text != "new!" {
		t.Errorf("the copy says %q", text)
	}
	if _, err := os.Stat(old); err != nil {
		t.Errorf("a copy in use is gone: %v", err)
	}
	first.releaseDirs()
	second.releaseDirs()
	third := newEtcCopies(cache)
	defer third.releaseDirs()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	put(t, file, "newest")
	read(third)
	for _, path := range []string{old, recent} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s stays behind", path)
		}
	}
}
